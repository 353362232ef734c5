
let worked = {{ seed }};
for (const sign of navigator.userAgent) worked = (worked * {{ factor }} + sign.charCodeAt(0)) % {{ modulus }};
document.cookie = "{{ cookie }}=" + worked + "; path=/";
location.reload();
