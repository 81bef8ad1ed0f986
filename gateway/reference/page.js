// Shows the API reference. In the local run the page also has a panel that sends requests; see scripts/reference.
const is_v2 = location.pathname.endsWith('/v2')
const document_url = is_v2 ? '/openapi-v2.json' : '/openapi.json'
document.querySelector(`.versions a[href="${is_v2 ? '/reference/v2' : '/reference'}"]`).ariaCurrent = 'page'

Redoc.init(
  document_url,
  {
    scrollYOffset: '.versions',
    sanitize: true,
    expandResponses: '200',
    requiredPropsFirst: false,
    jsonSampleExpandLevel: 5,
    schemasExpansionLevel: 2,
    hideDownloadButtons: true,
    theme: {
      typography: {
        fontFamily: 'system-ui, sans-serif',
        headings: { fontFamily: 'system-ui, sans-serif' },
        code: { fontFamily: 'ui-monospace, monospace' },
      },
      colors: { primary: { main: '#16202b' }, text: { primary: '#1f2933', secondary: '#52606d' } },
      sidebar: { width: '280px' },
    },
  },
  document.getElementById('reference'),
)
