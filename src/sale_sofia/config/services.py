"""Limits of the services the system starts and asks; no environment variable sets them."""

from typing import Final

REDIS_FOLDER: Final = "redis"
"""Folder of our own Redis server, in DATA_DIR."""
REDIS_CONNECT_SECONDS: Final = 3.0
"""Longest wait for a connection to Redis; more than a lost packet sent again, less than anyone's patience."""
REDIS_ANSWER_SECONDS: Final = 5.0
"""Longest wait for one answer of Redis; it answers in a millisecond when all is well."""
REDIS_START_SECONDS: Final = 60.0
"""Longest wait for our own server; it reads all its data first, some 100 MB in a second."""
REDIS_STOP_SECONDS: Final = 10.0
"""Time our own server has to write its data and leave before it is killed."""
REDIS_KILL_SECONDS: Final = 10.0
"""Longest wait for a killed process to be gone; only a hanging disk holds one back."""
REDIS_FOLDER_SECONDS: Final = 5.0
"""Longest wait for the last process of a dead server to let go of its folder."""
REDIS_DOOR_SECONDS: Final = 120.0
"""Longest wait for others who are starting or stopping our server: more than a slow start and stop."""
REDIS_POLL_SECONDS: Final = 0.02
"""Time between two looks at what is being waited for; a start takes about 0.06 s."""
REDIS_PORT_TRIES: Final = 5
"""Ports tried for our own server when another program was faster to take the one chosen."""

RUN_FOLDER: Final = "run"
LOG_FOLDER: Final = "logs"
"""Folders of the running services' records and of what they say, in DATA_DIR."""
SERVICE_START_SECONDS: Final = 120.0
"""Longest wait for a Celery worker or beat to be at work; it takes 2 s, on a machine that swaps much more."""
SERVICE_JOIN_SECONDS: Final = 180.0
"""Longest wait for services that another command is just starting."""
WORKER_STOP_SECONDS: Final = 30.0
"""Time a worker has to hand back its pages and leave before it is told to drop everything."""
WORKER_QUIT_SECONDS: Final = 20.0
"""Time it then has, its own last patience included, before it is killed."""
BEAT_STOP_SECONDS: Final = 10.0
"""Time beat has to leave before it is killed: it has nothing to finish."""
SERVICE_KILL_SECONDS: Final = 10.0
"""Longest wait for killed processes to be gone."""
SERVICE_DOWN_SECONDS: Final = 90.0
"""Longest wait of `down` for `up` to stop everything; then it is told a second time, which forces it."""
SERVICE_POLL_SECONDS: Final = 0.05
"""Time between two looks at a service that starts or stops."""
SUPERVISE_SECONDS: Final = 1.0
"""How often services and jobs are looked at while nothing is announced."""
SERVICE_SILENT_SECONDS: Final = 60.0
"""A service gives a sign of life every few seconds; one silent for so long, with Redis there, hangs."""
MOST_RESTARTS: Final = 20
RESTARTS_WITHIN_SECONDS: Final = 600.0
"""A service that died more often than this within this time is not started again: somebody must look."""
MOST_START_DEATHS: Final = 3
"""One that died more often than this before all were at work for the first time cannot start at all."""
SERVICE_TELL_SECONDS: Final = 15.0
"""How often it is told for whom a start still waits."""
DISK_LEAST_BYTES: Final = 1_000_000
"""With less room than this a disk counts as full: our programs write about as much when they start."""
DISK_FULL_TELL_SECONDS: Final = 60.0
"""How often it is told that a disk is still full."""
FLOWER_HOST: Final = "127.0.0.1"
"""Where Flower listens unless it is told otherwise: whoever sees it can stop tasks."""
FLOWER_ANSWER_SECONDS: Final = 2.0
"""Longest wait for Flower to say that it is well; it answers in milliseconds."""
FLOWER_LOOK_SECONDS: Final = 20.0
"""How often Flower is asked whether it is well, once it is."""
FLOWER_USER: Final = "sale-sofia"
"""The name that goes with FLOWER_PASSWORD."""
