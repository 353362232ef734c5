from sale_sofia.crawl.resilience.policy import BreakerRules, ResilienceConfig, RetryRules
from sale_sofia.settings.model import Settings


def test_what_people_set_arrives_and_the_rest_is_fixed() -> None:
    settings = Settings(
        circuit_breaker_fail_max=7,
        circuit_breaker_reset_timeout=33.0,
        circuit_breaker_half_open_calls=4,
        retry_max_attempts=9,
        retry_base_delay=1.5,
        retry_max_delay=44.0,
        retry_jitter_factor=0.25,
    )
    config = ResilienceConfig.from_settings(settings)
    assert config.breaker == BreakerRules(fail_max=7, reset_timeout_seconds=33.0, half_open_calls=4)
    assert config.retry == RetryRules(
        max_attempts=9, base_delay_seconds=1.5, max_delay_seconds=44.0, jitter_factor=0.25
    )


def test_the_fixed_numbers_keep_to_the_design() -> None:
    config = ResilienceConfig.from_settings(Settings())
    assert config.limiter.burst in {1, 2}
    assert 0 < config.limiter.recovery_factor < 1 < config.limiter.slow_step <= config.limiter.slow_max
    assert 0.1 <= config.retry_budget.share <= 0.2
