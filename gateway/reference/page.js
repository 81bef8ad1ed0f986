// Shows the API reference. In the local run the page also has a panel that sends requests; see scripts/reference.
const is_v2 = location.pathname.endsWith('/v2')
const document_url = is_v2 ? '/openapi-v2.json' : '/openapi.json'
document.querySelector(`.versions a[href="${is_v2 ? '/reference/v2' : '/reference'}"]`).ariaCurrent = 'page'

/** The document as Redoc draws it fast: of a failure, the codes as a list instead of a schema for each. */
async function readDocument() {
  const reference = await (await fetch(document_url)).json()
  const { schemas } = reference.components
  const codesOf = ({ $ref, oneOf, properties }) => {
    if ($ref !== undefined) return codesOf(schemas[$ref.split('/').at(-1)])
    return oneOf === undefined ? [properties.code.const] : oneOf.flatMap(codesOf)
  }
  for (const [name, { properties }] of Object.entries(schemas)) {
    if (!/Failure\d+$/.test(name)) continue
    const info = { type: ['object', 'null'] }
    properties.error = {
      type: 'object',
      required: ['code', 'message', 'details', 'context'],
      properties: {
        code: { type: 'integer', enum: codesOf(properties.error) },
        message: { type: 'string' },
        details: info,
        context: info,
      },
    }
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
