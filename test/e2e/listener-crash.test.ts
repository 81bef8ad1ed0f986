import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { IS_WHOLE } from '../support/property-runs.ts'
import { type ReceivedCallback, type Receiver, signatureV3, startReceiver } from '../support/receiver.ts'
import { type OneProcessSystem, startOneProcess } from '../support/system.ts'

const LIMIT_MS = 300_000

/** Each deposit has two events. */
const DEPOSITS = IS_WHOLE ? 500 : 50
const KILLS = IS_WHOLE ? 20 : 2
const SERVER_KILLS = IS_WHOLE ? 5 : 1
/** Deposits that are created at the same time. */
const BATCH = 5

let system: OneProcessSystem
let local: Receiver
beforeAll(async () => {
  system = await startOneProcess()
  local = await startReceiver()
})
afterAll(async () => {
  await local?.stop()
  await system?.end()
})

/** `multihub listen` as a developer runs it, started again whenever it has ended. */
function startListening(words: readonly string[]) {
  let child: ChildProcess
  let has_ended = false
  const output = { out: '', err: '' }
  /** What was received when the present process began. */
  let received_before = 0
  const start = (): void => {
    const { backoffice_url, operator } = system.demo()
    const variables = { HOME: system.home, MULTIHUB_URL: backoffice_url, MULTIHUB_TOKEN: operator.token }
    received_before = local.callbacks.length
    child = spawn(process.execPath, [join(import.meta.dirname, '../../multihub'), 'listen', ...words], {
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout?.on('data', (chunk) => (output.out += chunk))
    child.stderr?.on('data', (chunk) => (output.err += chunk))
    child.once('exit', () => has_ended || start())
  }
  start()
  return {
    output,
    /** Kills the process while it is forwarding. */
    async kill(): Promise<void> {
      await eventually(
        async () => local.callbacks.length - received_before,
        (count = 0) => count > 0,
      )
      child.kill('SIGKILL')
    },
    end(): void {
      has_ended = true
      child.kill('SIGKILL')
    },
  }
}

const nameOf = ({ body }: ReceivedCallback): string =>
  `${body.data.result.payment.identifiers.c_id} ${body.id.split(':')[1]}`

// O20
test(
  'a program behind "multihub listen" gets each callback, however often the command and the server are killed',
  async () => {
    const alpha = merchantClient(system.demo)
    const { merchant_id } = alpha.merchant
    const printing = startListening(['--merchant', merchant_id, '--print-secret'])
    const secret = await eventually(
      async () => /^([0-9a-f]{64})\n/.exec(printing.output.out)?.[1] ?? '',
      (text) => text !== '',
    )
    printing.end()
    const listening = startListening(['--merchant', merchant_id, '--forward-to', local.url])
    await eventually(
      async () => listening.output.err,
      (err = '') => err.includes('Listening'),
    )
    const accepted: string[] = []
    let [kills, server_kills] = [0, 0]
    for (let created = 0; created < DEPOSITS; ) {
      const batch = Array.from({ length: BATCH }, (_, n) => alpha.deposit((created + n + 1) * 1_000 + 908))
      for (const one of await Promise.allSettled(batch))
        if (one.status === 'fulfilled' && one.value.body?.success === true) accepted.push(one.value.c_id)
      created += BATCH
      if (created * KILLS >= DEPOSITS * (kills + 1)) {
        await listening.kill()
        kills += 1
      }
      if (created * (SERVER_KILLS + 1) >= DEPOSITS * (server_kills + 1) && server_kills < SERVER_KILLS) {
        await Promise.all([system.kill(), alpha.deposit(created * 1_000 + 908).catch(() => undefined)])
        await system.start()
        server_kills += 1
      }
    }
    expect([kills, server_kills]).toEqual([KILLS, SERVER_KILLS])
    expect(accepted.length).toBeGreaterThan(DEPOSITS * 0.9)
    const wanted = accepted.flatMap((c_id) => [`${c_id} payment.created`, `${c_id} payment.completed`])
    const missing = () => {
      const received = new Set(local.callbacks.map(nameOf))
      return wanted.filter((name) => !received.has(name))
    }
    await eventually(
      async () => missing().length,
      (count) => count === 0,
      LIMIT_MS,
    )
    listening.end()
    // The exact bytes and headers: the signature of each is right.
    const wrong = local.callbacks.filter(
      (one) => signatureV3(secret, one) !== one.headers['x-webhook-signature-v3'],
    )
    expect(wrong).toEqual([])
    expect(listening.output.out).not.toContain('NOT VERIFIED')
    console.log(
      `${accepted.length} deposits, ${local.callbacks.length} callbacks for ${wanted.length} events, ${kills} kills of the command, ${server_kills} of the server`,
    )
  },
  LIMIT_MS * 2,
)
