import { parseArgs } from 'node:util'
import { resolveCopies } from '../../test/support/fleet/copies.ts'
import { describeResult } from './report.ts'
import { runChaos } from './run-chaos.ts'
import { whyNoPrivateMongodb } from './servers/private-mongodb.ts'
import { STORES, type StoreName } from './surroundings.ts'

/**
 * `npm run chaos -- --seconds N [--kills N] [--seed S] [--store embedded|mongodb] [--many]`: runs the whole system in real
 * processes under load, kills and pauses its processes and servers, and judges the result. Without `--store` it runs on
 * each store that is available here. `--many` runs 21 processes on the MongoDB-compatible server and also breaks the
 * connections of single processes. `--kills` ends the run after this number of SIGKILLs. The seed chooses the faults and the
 * requests; it does not repeat a run exactly, because real processes have times of their own.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string' },
    seed: { type: 'string' },
    store: { type: 'string' },
    many: { type: 'boolean', default: false },
  },
})
const SECONDS_MAX = 3_600
const seed = values.seed === undefined ? Date.now() % 1_000_000_000 : numberOf('seed', values.seed)
const seconds = Math.min(numberOf('seconds', values.seconds), SECONDS_MAX)
const kills_max = values.kills === undefined ? Number.POSITIVE_INFINITY : numberOf('kills', values.kills)
const print = (line: string): void => console.log(line)

resolveCopies()
// The clock of the project keeps no process alive.
setInterval(() => {}, 60_000)
let endNow: () => Promise<void> = async () => {}
let is_ending = false
const onSignal = (): void => {
  // The terminal and npm both send it, so that it can come twice.
  if (is_ending) return
  is_ending = true
  void endNow().finally(() => process.exit(130))
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)

let is_right = true
for (const store of chosenStores()) {
  const missing = store === 'mongodb' ? whyNoPrivateMongodb() : undefined
  if (missing !== undefined) {
    print(`chaos on ${store}: not run, because ${missing.skip}`)
    if (values.many || values.store === store || process.env['MULTIHUB_CI'] === '1') is_right = false
    continue
  }
  print(`chaos on ${store}: seed ${seed}, ${seconds} s of faults`)
  const result = await runChaos({
    store,
    is_many: values.many,
    seed,
    seconds,
    kills_max,
    print,
    onStarted: (end) => {
      endNow = end
    },
  })
  print(
    `chaos on ${store}: seed ${seed}, ${result.verdict.problems.length === 0 ? 'nothing is wrong' : 'FAILED'}`,
  )
  for (const line of describeResult(result)) print(line)
  if (result.verdict.accepted === 0) print('  WRONG: no payment was accepted, so the run shows nothing')
  if (result.verdict.problems.length > 0 || result.verdict.accepted === 0) is_right = false
}
process.exit(is_right ? 0 : 1)

function chosenStores(): readonly StoreName[] {
  if (values.many) {
    if (values.store === 'embedded') throw new Error('--many is for --store mongodb')
    return ['mongodb']
  }
  if (values.store === undefined) return STORES
  const chosen = STORES.filter((store) => store === values.store)
  if (chosen.length === 0) throw new Error(`--store is one of ${STORES.join(', ')}`)
  return chosen
}

function numberOf(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} is not a number: ${text}`)
  return Number(text)
}
