/**
 * Publishes events to programs that deliver them as callbacks, and measures them: `node bench/peer/publish.mjs FOLDER...`,
 * where each FOLDER has a peer.json. Several programs are measured in turn. README.md explains the protocol and the options.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    events: { type: 'string', default: '5000' },
    'in-flight': { type: 'string', default: '64' },
    endpoints: { type: 'string', default: '10' },
    rate: { type: 'string', default: '0' },
    rounds: { type: 'string', default: '4' },
    body: { type: 'string' },
  },
})
if (positionals.length === 0) {
  console.error('usage: node bench/peer/publish.mjs FOLDER... [--events N] [--in-flight N] [--rate N] ...')
  process.exit(1)
}
const [events, in_flight, endpoint_count, rate, rounds] = [
  values.events,
  values['in-flight'],
  values.endpoints,
  values.rate,
  values.rounds,
].map(Number)
/** The body of an event: about as large as a payment's event. `{reference}` becomes the time of publication. */
const SAMPLE = JSON.stringify({ c_id: '{reference}', text: 'x'.repeat(1_500) })
const template = values.body === undefined ? SAMPLE : await readFile(values.body, 'utf8')

let latencies_ms = []
/** Receivers that answer at once. */
const endpoints = await Promise.all(
  Array.from({ length: endpoint_count }, async () => {
    const server = createServer((incoming, response) => {
      let body = ''
      incoming.setEncoding('latin1').on('data', (chunk) => (body += chunk))
      incoming.on('end', () => {
        const published_at = /"c_id":"(\d+)/.exec(body)?.[1] ?? '0'
        latencies_ms.push(Number(process.hrtime.bigint() - BigInt(published_at)) / 1e6)
        response.writeHead(204).end()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${server.address().port}/callbacks`
  }),
)

const agent = new Agent({ keepAlive: true, maxSockets: in_flight })
const pause = (pause_ms) => new Promise((done) => setTimeout(done, pause_ms))

function send(url, method, headers = {}, body = '') {
  return new Promise((done, failed) => {
    const sent = request(url, { method, headers, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      response.on('end', () => done({ status: response.statusCode, text }))
    })
    sent.on('error', failed).end(body)
  })
}

async function start(folder) {
  const { name, start, url } = JSON.parse(await readFile(resolve(folder, 'peer.json'), 'utf8'))
  const [command, ...parameters] = start
  const child = spawn(command, parameters, {
    cwd: resolve(folder),
    env: { ...process.env, PEER_ENDPOINTS: JSON.stringify(endpoints) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return { name, url, child }
}

async function untilIdle({ url, child }) {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the peer ended with ${child.exitCode}`)
    const answer = await send(url, 'GET').catch(() => undefined)
    if (answer !== undefined && JSON.parse(answer.text).idle) return
    await pause(5)
  }
}

async function publish({ url }) {
  const began_ms = performance.now()
  let next = 0
  const worker = async () => {
    while (next < events) {
      const number = next
      next += 1
      const wait_ms = rate === 0 ? 0 : began_ms + (number * 1_000) / rate - performance.now()
      if (wait_ms > 0) await pause(wait_ms)
      const body = template.replace('{reference}', `${process.hrtime.bigint()}-${number}`)
      const { status } = await send(url, 'POST', { 'x-endpoint': endpoints[number % endpoints.length] }, body)
      if (status < 200 || status > 299) throw new Error(`the peer answered HTTP ${status}`)
    }
  }
  await Promise.all(Array.from({ length: in_flight }, worker))
  return (events / (performance.now() - began_ms)) * 1_000
}

const percentile = (sorted, fraction) => sorted[Math.floor(sorted.length * fraction)]?.toFixed(1)

async function measure(peer) {
  latencies_ms = []
  const began_ms = performance.now()
  const published_per_s = await publish(peer)
  while (latencies_ms.length < events) await pause(2)
  await untilIdle(peer)
  const delivered_per_s = (events / (performance.now() - began_ms)) * 1_000
  const sorted = latencies_ms.toSorted((left, right) => left - right)
  const rates = `${published_per_s.toFixed()} published/s, ${delivered_per_s.toFixed()} delivered and recorded/s`
  return `${rates}, p50 ${percentile(sorted, 0.5)} ms, p99 ${percentile(sorted, 0.99)} ms`
}

const peers = []
try {
  for (const folder of positionals) peers.push(await start(folder))
  for (const peer of peers) await untilIdle(peer)
  for (let round = 1; round <= rounds; round += 1)
    for (const peer of peers) console.log(`round ${round}, ${peer.name}: ${await measure(peer)}`)
} finally {
  for (const { child } of peers) {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
  }
}
process.exit(0)
