// Shows the API reference. In the local run the page also has a panel that sends requests; see scripts/reference.
const is_v2 = location.pathname.endsWith('/v2')
const document_url = is_v2 ? '/openapi-v2.json' : '/openapi.json'
document.querySelector(`.versions a[href="${is_v2 ? '/reference/v2' : '/reference'}"]`).ariaCurrent = 'page'

/** The document as Redoc draws it fast: of a failure, the codes as a list instead of a schema with a case for each. */
async function readDocument() {
  const reference = await (await fetch(document_url)).json()
  for (const [name, { properties }] of Object.entries(reference.components.schemas)) {
    if (!/^Failure\d+$/.test(name)) continue
    const { error } = properties
    delete error.allOf
    const { type, oneOf } = error.properties.code
    error.properties.code = { type, enum: oneOf.map((code) => code.const) }
  }
  return reference
}

const OPTIONS = {
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
}

readDocument().then((reference) =>
  Redoc.init(reference, OPTIONS, document.getElementById('reference')),
)
