/**
 * The plain way to send callbacks: a job per callback, and a BullMQ worker that signs and posts it. Redis writes each change
 * to its file before it answers. It needs redis-server on PATH, and `npm install` in a copy of this folder.
 */
import { spawn } from 'node:child_process'
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Queue, Worker } from 'bullmq'
import { Agent } from 'undici'

const REDIS_PORT = 4182
const CONCURRENCY = Number(process.env.PEER_CONCURRENCY ?? 64)
const TIMEOUT_MS = 30_000
const SECRET = 'ab'.repeat(32)

const directory = mkdtempSync(join(tmpdir(), 'peer-redis-'))
const durability = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
const redis = spawn('redis-server', ['--port', `${REDIS_PORT}`, '--dir', directory, ...durability], {
  stdio: 'ignore',
})
redis.on('error', (error) => {
  console.error(`redis-server cannot be started: ${error.message}`)
  process.exit(1)
})
redis.on('exit', () => {
  rmSync(directory, { recursive: true, force: true })
  process.exit(0)
})
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => redis.kill())

const connection = { host: '127.0.0.1', port: REDIS_PORT, maxRetriesPerRequest: null }
const queue = new Queue('callbacks', { connection })
const agent = new Agent({ connections: CONCURRENCY })
const sha512 = (text) => createHash('sha512').update(text).digest('hex')

async function deliver({ data: { endpoint, body, id } }) {
  const timestamp = new Date().toISOString()
  const nonce = randomBytes(16).toString('hex')
  const { origin, pathname: path } = new URL(endpoint)
  const headers = {
    'content-type': 'application/json',
    'x-data-hash': sha512(body + SECRET),
    'x-webhook-id': id,
    'x-webhook-timestamp': timestamp,
    'x-webhook-nonce': nonce,
    'x-webhook-signature-v2': sha512(timestamp + body + SECRET),
    'x-webhook-signature-v3': createHmac('sha512', SECRET)
      .update(`${timestamp}.${nonce}.${id}.${body}`)
      .digest('hex'),
  }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const response = await agent.request({ origin, path, method: 'POST', headers, body, signal })
  await response.body.dump()
  if (response.statusCode < 200 || response.statusCode > 299) throw new Error(`HTTP ${response.statusCode}`)
}

const worker = new Worker('callbacks', deliver, { connection, concurrency: CONCURRENCY })
worker.on('error', (error) => console.error(error.message))
const retries = { attempts: 4, backoff: { type: 'exponential', delay: 1_000 }, removeOnComplete: true }

createServer(async (request, response) => {
  if (request.method === 'GET') {
    const counts = await queue.getJobCounts('active', 'waiting', 'delayed')
    return response.end(JSON.stringify({ idle: Object.values(counts).every((count) => count === 0) }))
  }
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const job = {
    endpoint: request.headers['x-endpoint'],
    body: Buffer.concat(chunks).toString(),
    id: randomUUID(),
  }
  await queue.add('callback', job, retries)
  response.writeHead(202).end()
}).listen(4181, '127.0.0.1')
