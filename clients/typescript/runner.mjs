// Drives the built package for the tests in test/clients: one act per line of the input, one answer per line of the output.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

const [folder, kind = 'esm'] = process.argv.slice(2)
const path = join(folder, 'dist', kind, 'index.js')
const multihub = kind === 'cjs' ? createRequire(import.meta.url)(path) : await import(pathToFileURL(path))
const bytes = (text) => new TextEncoder().encode(text)
let client
const received = []
const reported = []

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/callbacks`
}

/** An Express application with a parser of JSON, as most have, and what comes before it. */
async function listenWithExpress(...handlers) {
  const { default: express } = await import('express')
  const app = express()
  app.post('/callbacks', ...handlers.map((handler) => handler(express)))
  app.use(express.json())
  return listen(createServer(app))
}

const RECEIVERS = {
  plain: (...parameters) => listen(createServer(multihub.callbackListener(...parameters))),
  Express: (...parameters) => listenWithExpress(() => multihub.callbackListener(...parameters)),
  'Express after express.raw': (...parameters) =>
    listenWithExpress(
      (express) => express.raw({ type: '*/*', limit: '256kb' }),
      () => multihub.callbackListener(...parameters),
    ),
  'Express after express.json': (...parameters) =>
    listenWithExpress(
      (express) => express.json(),
      () => multihub.callbackListener(...parameters),
    ),
  async Fastify(...parameters) {
    const { default: fastify } = await import('fastify')
    const app = fastify()
    app.register(multihub.fastifyCallbacks(...parameters), { prefix: '/callbacks' })
    return `${await app.listen({ host: '127.0.0.1', port: 0 })}/callbacks`
  },
}

const ACTS = {
  settings({ settings }) {
    client = new multihub.Client(settings)
    return inspect(client)
  },
  create: ({ method, request, resume, stop_ms }) => {
    const signal = stop_ms === undefined ? undefined : AbortSignal.timeout(stop_ms)
    return client.createPayment(method, request, { resume, signal })
  },
  call: ({ method, request, undefined_param }) => {
    if (undefined_param !== undefined) request.params[undefined_param] = undefined
    return client.call(method, request)
  },
  resend: ({ payment_id, operation_id }) => client.resendWebhook(payment_id, operation_id),
  async each({ method, request }) {
    const items = []
    for await (const item of client.each(method, request)) items.push(item)
    return items
  },
  async balance_text() {
    const { balance } = await client.balanceGet()
    return String(balance.amounts[0].value)
  },
  upload: ({ file: { text, ...file }, operation_id, scan_ms }) =>
    client.uploadFile({ ...file, bytes: bytes(text) }, { operation_id, scan_ms: scan_ms && Number(scan_ms) }),
  download: async ({ h_id }) => new TextDecoder().decode(await client.downloadFile(h_id)),
  sign({ scheme, application_id, secret, body, timestamp, nonce, path }) {
    const credential = { application_id: Number(application_id), secret }
    const pair = timestamp ? { timestamp, nonce } : undefined
    if (scheme === 'v1') return multihub.signV1(credential, bytes(body))
    if (scheme === 'v2') return multihub.signV2(credential, bytes(body), pair)
    return multihub.signResend(credential, path, bytes(body), pair)
  },
  check({ scheme, secret, application_id, body, signature, ...covered }) {
    if (scheme === 'v1') return multihub.verifyV1(secret, bytes(body), signature)
    const credential = { application_id: Number(application_id), secret }
    return multihub.verifyV2(credential, { ...covered, body: bytes(body) }, signature)
  },
  webhook_secret: ({ api_secret }) => multihub.webhookSecret(api_secret),
  verify: ({ headers, body, secrets, now_ms }) =>
    multihub.verifyCallback(headers, bytes(body), { secrets, ...(now_ms && { now_ms: () => now_ms }) }).id,
  async serve({ middleware, secrets }) {
    const handle = async ({ id }, raw) => {
      if (id.startsWith('fail')) throw new Error('the store is away')
      if (JSON.parse(new TextDecoder().decode(raw)).id === id) received.push(id)
    }
    const settings = { secrets, on_error: ({ message }) => reported.push(message) }
    return RECEIVERS[middleware](settings, handle)
  },
  key: ({ callback }) => multihub.callbackKey(callback),
  received: () => received,
  reported: () => reported,
}

function errorOf(error) {
  const { message, code, retry, reason, text, cause, operation_id } = error
  if (error instanceof multihub.RefusalError) return { kind: 'refusal', message, code, retry, operation_id }
  if (error instanceof multihub.OutcomeUnknownError) return { kind: 'unknown', message, text: cause?.text }
  if (error instanceof multihub.TransportError)
    return { kind: 'transport', message, reason, text, operation_id }
  if (error instanceof multihub.CallbackError) return { kind: 'callback', message, reason }
  return { kind: 'other', message: String(error.stack) }
}

const print = (answer) =>
  process.stdout.write(
    `${JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? Number(value) : value))}\n`,
  )
for await (const line of createInterface(process.stdin)) {
  const { act, ...rest } = multihub.parseJson(line)
  try {
    print({ result: (await ACTS[act](rest)) ?? null })
  } catch (error) {
    print({ error: errorOf(error) })
  }
}
process.exit(0)
