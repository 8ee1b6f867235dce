// Starts the page, without the validator, which would send the document to another server.
window.onload = function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();
  window.ui = SwaggerUIBundle({
    "dom_id": "#swagger-ui",
    "url": "/openapi.json",
    "deepLinking": true,
    "validatorUrl": "none",
    "docExpansion": "list",
    "defaultModelsExpandDepth": 0,
    "layout": "BaseLayout",
    "presets": [SwaggerUIBundle.presets.apis],
  });
};
