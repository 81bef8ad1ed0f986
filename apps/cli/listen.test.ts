import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { startDoor, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { paymentEvent } from '../../services/notifier/event.fixture.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import { eventually } from '../../test/support/eventually.ts'

let door: TestDoor
let home: string
let merchant_id: string
let token: string
beforeAll(async () => {
  door = await startDoor([merchants, notifier])
  home = mkdtempSync(join(tmpdir(), 'multihub-listen-'))
  const { merchant } = await door.roles.client(MerchantService, 'backoffice').createMerchant({
    name: 'listens',
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST],
    operationId: uuidv7(),
  })
  merchant_id = merchant?.merchantId ?? ''
  token = (await door.newPrincipal(['reveal'], merchant_id)).token
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

async function happen(name: string): Promise<void> {
  const event = paymentEvent({ merchantId: merchant_id, eventKey: `p:${name}`, event: 'payment.completed' })
  const bytes = toBinary(MerchantEventSchema, event)
  await door.roles.client(DeliveryService, 'payments').receiveEvent({ event: bytes })
}

/** A program of a developer: remembers the ids of the callbacks, and answers the statuses of `answers` first. */
async function startLocal(answers: number[] = []) {
  const ids: string[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const status = answers.shift() ?? 200
      if (status === 200) ids.push(String(request.headers['x-webhook-id']))
      response.writeHead(status).end(status === 200 ? '' : 'TypeError: c is undefined')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return { ids, url: `http://127.0.0.1:${port}/hook`, [Symbol.asyncDispose]: async () => void server.close() }
}

/** Starts the real command, and collects what it prints. */
function start(forward_to: string): { readonly child: ChildProcess; text: string; err: string } {
  const words = [resolve('multihub'), 'listen', '--forward-to', forward_to]
  const env = { ...process.env, HOME: home, MULTIHUB_URL: door.url, MULTIHUB_TOKEN: token }
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const started = { child, text: '', err: '' }
  child.stdout?.on('data', (chunk) => (started.text += chunk))
  child.stderr?.on('data', (chunk) => (started.err += chunk))
  return started
}

const isListening = (run: { err: string }) =>
  eventually(
    async () => run.err,
    (err = '') => err.includes('Listening'),
  )

async function kill({ child }: { readonly child: ChildProcess }): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

test('each callback reaches the local program, verified, however often the command is killed', async () => {
  await using local = await startLocal()
  let run = start(local.url)
  await isListening(run)
  const count = 20
  for (let n = 0; n < count; n += 1) {
    await happen(`killed-${n}`)
    if (n % 5 === 4) {
      await kill(run)
      run = start(local.url)
    }
  }
  await eventually(
    async () => new Set(local.ids).size,
    (size) => size === count,
  )
  await eventually(
    async () => run.text + run.err,
    (text = '') => /payment\.completed .*✓ verified {2}→ 200/.test(text) || text.includes('Listening'),
  )
  expect(run.text).not.toContain('NOT VERIFIED')
  await kill(run)
})

test('a callback that the program refuses is sent again, with the beginning of its answer shown', async () => {
  await using local = await startLocal([500])
  const run = start(local.url)
  await isListening(run)
  await happen('refused')
  await eventually(
    async () => local.ids.length,
    (length) => length === 1,
  )
  await eventually(
    async () => run.text,
    (text = '') => /→ 500 {2}\d+ ms {2}TypeError: c is undefined {2}will be sent again\n.*→ 200/.test(text),
  )
  await kill(run)
})
