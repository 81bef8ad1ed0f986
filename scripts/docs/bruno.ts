import { RESEND_METHOD } from '#lib/contract/methods.ts'
import type { PublicMethod } from '../../gateway/methods/method.ts'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import { resendPath, V1_PATH } from '../../gateway/paths.ts'

/** The folder of the collection. */
export const BRUNO_FOLDER = 'docs/merchants/bruno'

/** The order in which the requests can be run: each needs only what earlier ones have made. */
const ORDER: readonly string[] = [
  ...['gateway.ping', 'balance.get', 'payment.in', 'payment.status', 'payment.out', 'payment.notification'],
  RESEND_METHOD,
  ...[
    'attachment.prepare',
    'attachment.upload',
    'attachment.finalize',
    'attachment.status',
    'attachment.get',
  ],
  ...['ticket.create', 'ticket.get', 'ticket.list', 'ticket.summary', 'ticket.description.update'],
  ...['ticket.comment.create', 'ticket.comments.list', 'ticket.comment.update', 'ticket.reopen'],
  ...['refund.request', 'refund.get', 'refund.list', 'refund.summary', 'refund.comment.create'],
  ...['refund.comments.list', 'chargeback.list', 'chargeback.get', 'chargeback.summary'],
  'chargeback.attachments.list',
]

/** What stands for the id in the example of a method. */
const IDS: Readonly<Record<string, string>> = {
  attachment: 'attachment_id',
  chargeback: 'chargeback_id',
  ticket: 'comment_id',
  webhook: 'payment_id',
}

/** What must have come to pass before a request, as the body of a loop that ends when it has. */
const UNTIL: Readonly<Record<string, string>> = {
  [RESEND_METHOD]: `const { data } = await bru.runRequest('payment.status')
if (data.result?.payment.status.final) break`,
  'attachment.get': `const { data } = await bru.runRequest('attachment.status')
if (data.result?.status !== 'scanning') break`,
}

/** The file that `attachment.prepare` announces. */
const FILE = '%PDF-1.4\n% A receipt of order 1\n%%EOF\n'

const SIGN = `// Bruno would fill in variables after this script, and write JSON in its own way: the signature would cover other bytes.
// So the script fills them in itself, and sets the whole body as the raw text that it signs.
const CryptoJS = require('crypto-js')
if (!bru.getVar('run')) bru.setVar('run', Date.now().toString(36))
const valueOf = (name) => bru.getVar(name) ?? bru.getEnvVar(name) ?? ''
const filled = (text) => text.replace(/\\{\\{(\\w+)\\}\\}/g, (_, name) => valueOf(name))
const is_upload = req.getName() === 'attachment.upload'
if (!is_upload) {
  const text = filled(req.getBody({ raw: true }))
  req.setBody(text, { raw: true })
  req.setHeader('X-Data-Application-Id', String(valueOf('application_id')))
  req.setHeader('X-Data-Hash', CryptoJS.SHA512(text + valueOf('secret')).toString())
}`

const KEEP = `// Later requests name what this one has made.
const { result } = res.getBody()
const keep = (name, value) => value && bru.setVar(name, value)
if (result) {
  keep('upload_url', result.upload?.url)
  if (req.getName() === 'payment.in') keep('payment_id', result.payment.identifiers.h_id)
  if (req.getName() === 'attachment.prepare') keep('attachment_id', result.attachment.identifiers.h_id)
  if (req.getName() === 'ticket.comment.create') keep('comment_id', result.identifiers.h_id)
  if (req.getName() === 'ticket.list') keep('resolved_ticket_id', result.items[0]?.identifiers.h_id)
  if (req.getName() === 'chargeback.list') keep('chargeback_id', result.items[0]?.identifiers.h_id)
}`

/** The files of the Bruno collection by path: a request for each method, and the script that signs them. */
export function brunoFiles(): Readonly<Record<string, () => string>> {
  const file = (name: string, text: string) => [`${BRUNO_FOLDER}/${name}`, () => text] as const
  return Object.fromEntries([
    file(
      'bruno.json',
      `${JSON.stringify({ version: '1', name: 'Multihub', type: 'collection' }, undefined, 2)}\n`,
    ),
    file(
      'collection.bru',
      blocks([
        ['script:pre-request', SIGN],
        ['script:post-response', KEEP],
      ]),
    ),
    file('environments/local.bru', ENVIRONMENT),
    ...PUBLIC_METHODS.map((method) => file(`${method.name}.bru`, requestFile(method))),
    file('attachment.upload.bru', uploadFile()),
  ])
}

const ENVIRONMENT = `vars {
  base_url: http://127.0.0.1:8080
  application_id: 20001
  deposit_service_id: 30001
  withdrawal_service_id: 30014
  callback_url: http://127.0.0.1:3000/callbacks
}
vars:secret [
  secret
]
`

function requestFile({ name, summary, example }: PublicMethod): string {
  const path = name === RESEND_METHOD ? resendPath('{{payment_id}}') : V1_PATH
  const [resource = ''] = name.split('.')
  const text = JSON.stringify(completed(name, example), undefined, 2)
    .replaceAll('0199c0de-0000-7000-8000-000000000001', `{{${IDS[resource]}}}`)
    .replaceAll(/"(c_id|operation_id)": "/g, '"$1": "{{run}}-')
    .replace(
      /"service_id": \d+/,
      `"service_id": {{${name === 'payment.out' ? 'withdrawal' : 'deposit'}_service_id}}`,
    )
  return blocks([
    ...head(name, 'post', path),
    ['headers', 'Content-Type: application/json'],
    ['body:text', text],
    ...waitFor(name),
    ['assert', 'res.status: eq 200\nres.body.success: eq true'],
    ['docs', summary],
  ])
}

/** The example of a method, but with an address for callbacks, and with a ticket that the operator has resolved. */
function completed(name: string, example: PublicMethod['example']): object {
  if (name === 'ticket.list') return { ...example, params: { statuses: ['resolved'], limit: 50 } }
  if (name === 'ticket.reopen')
    return { ...example, params: { identifiers: { h_id: '{{resolved_ticket_id}}' } } }
  if (name !== 'payment.in') return example
  const { payment } = example['params'] as { payment: object }
  return { ...example, params: { payment: { ...payment, webhook_url: '{{callback_url}}' } } }
}

function waitFor(name: string): readonly (readonly [string, string])[] {
  const body = UNTIL[name]
  if (body === undefined) return []
  const lines = [...body.split('\n'), 'await bru.sleep(1000)'].map((line) => `  ${line}`)
  return [['script:pre-request', ['for (let tries = 0; tries < 10; tries += 1) {', ...lines, '}'].join('\n')]]
}

function uploadFile(): string {
  return blocks([
    ...head('attachment.upload', 'put', ''),
    ['headers', 'Content-Type: application/pdf'],
    ['body:text', 'The script sets the bytes.'],
    ['script:pre-request', `req.setUrl(bru.getVar('upload_url'))\nreq.setBody(${JSON.stringify(FILE)})`],
    ['assert', 'res.status: eq 200'],
    ['docs', 'Sends the bytes of a prepared file. Its URL is the proof, so it has no signature.'],
  ])
}

function head(name: string, verb: string, path: string): readonly (readonly [string, string])[] {
  return [
    ['meta', `name: ${name}\ntype: http\nseq: ${ORDER.indexOf(name) + 1}`],
    [verb, `url: {{base_url}}${path}\nbody: text\nauth: none`],
  ]
}

function blocks(entries: readonly (readonly [name: string, text: string])[]): string {
  const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ')
  return entries.map(([name, text]) => `${name} {\n${indented(text)}\n}\n`).join('\n')
}
