import { clock, every, sleep } from '#lib/base/time.ts'
import { type Choices, createChoices } from '../simulation/parts/random.ts'
import { createHistory, type History, recordKey } from '../simulation/workload/history.ts'
import { createMerchant, type SimulatedMerchant } from '../simulation/workload/merchants.ts'
import { isFinalStatus, isPaidStatus, observePayment } from '../simulation/workload/observe.ts'
import { createPublicApi, type PublicApi } from '../simulation/workload/public-api.ts'
import { type FaultRecord, injectFaults } from './faults/inject.ts'
import { retry } from './judge/calls.ts'
import { collectFacts } from './judge/collect.ts'
import { evidenceOf } from './judge/evidence.ts'
import { compareFinalReads, verifyLedger } from './judge/final-reads.ts'
import { actsAreVisible, filesHaveEnded, refundsHaveEnded } from './judge/later-ends.ts'
import { faultsInLogs } from './judge/logs.ts'
import { measureRecovery } from './judge/recovery.ts'
import { judge } from './judge/verdict.ts'
import { runLoad } from './load.ts'
import { usesOfRoles } from './processor-use.ts'
import { type ChaosResult, describeOthers, describeProgress } from './report.ts'
import { settle } from './settle.ts'
import { type Form, type Surroundings, startSurroundings } from './surroundings.ts'
import { createGateways } from './workload/gateways.ts'
import { drawRoutes, drawWithdrawalRoutes } from './workload/merchants.ts'
import { type AcceptedActs, noActs } from './workload/operator-acts.ts'
import { type RecordingReceiver, startRecordingReceiver } from './workload/recording-receiver.ts'
import { createTimeline, type Timeline } from './workload/timeline.ts'

/** How long to run, and on what. */
export interface ChaosPlan extends Form {
  readonly seed: number
  /** How long faults happen. */
  readonly seconds: number
  /** After this number of SIGKILLs the run ends early. */
  readonly kills_max: number
  readonly print: (line: string) => void
  /** Gets the function that ends everything at once, for a run that is interrupted. */
  readonly onStarted: (end: () => Promise<void>) => void
}

const MERCHANTS = 3
const ORIGINS_PER_MERCHANT = 2
const PROGRESS_MS = 5_000
/** Requests go on for this time after the last repair, so that the recovery can be seen. */
const AFTER_REPAIR_MS = 3_000
/** A run beyond this length also has pauses beyond the longest lease. */
const LONG_RUN_S = 240

/** Runs a system under load and faults, lets it settle, and judges what it has done. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const problems: string[] = []
  const onProblem = (problem: string): void => void problems.push(problem)
  const surroundings = await startSurroundings(plan, onProblem, plan.print)
  plan.onStarted(() => surroundings.end(false))
  let is_right = false
  try {
    const result = await runIn(surroundings, plan, problems)
    is_right = result.verdict.problems.length === 0
    return { ...result, directory: is_right ? undefined : surroundings.directory }
  } finally {
    await surroundings.end(!is_right)
  }
}

async function runIn(
  surroundings: Surroundings,
  plan: ChaosPlan,
  problems: string[],
): Promise<Omit<ChaosResult, 'directory'>> {
  const { fleet } = surroundings
  const choicesOf = (name: string): Choices => createChoices(plan.seed, name)
  const history = createHistory()
  const timeline = createTimeline()
  const gateways = createGateways(fleet.places.filter(({ role }) => role === 'gateway' || role === 'all'))
  const receiver = await startRecordingReceiver(
    MERCHANTS * ORIGINS_PER_MERCHANT,
    choicesOf('receivers'),
    ({ body, at_ms }) => observeCallback({ history, timeline, problems }, body, at_ms),
  )
  try {
    const plain_api = createPublicApi(clock, gateways, choicesOf('api'), '')
    const merchants = await createMerchants(surroundings, choicesOf('merchants'), receiver)
    const api = timeline.watch(plain_api, merchants)
    const acts = noActs()
    const faults: FaultRecord = { repaired: [], kills: 0, present: new Set() }
    await runUnderFaults({
      plan,
      surroundings,
      history,
      timeline,
      api,
      receiver,
      merchants,
      faults,
      problems,
      acts,
    })
    receiver.recover()
    const operator = fleet.operator.clientsOf('backoffice')
    const settled_ms = await settle({ api, operator, history, timeline, merchants })
    const uses = usesOfRoles(fleet.places)
    plan.print(`  settled after ${(settled_ms / 1_000).toFixed(1)} s`)
    const facts = await collectFacts({
      operator,
      history,
      merchants,
      callbacks: receiver.callbacks,
      sandbox_url: fleet.settings.shared['MULTIHUB_SANDBOX_URL'] ?? '',
      sandbox_key: fleet.settings.shared['MULTIHUB_SANDBOX_KEY'] ?? '',
    })
    const evidence = evidenceOf(facts)
    const seen = [
      ...(await compareFinalReads(evidence, api, operator)),
      ...(await verifyLedger(operator)),
      ...(await actsAreVisible(operator, facts, acts)),
      ...(await filesHaveEnded(api, facts)),
      ...refundsHaveEnded(facts),
      ...(await faultsInLogs(fleet.places)),
    ]
    const verdict = judge(evidence, [...plain_api.problems, ...problems, ...seen])
    const recoveries = measureRecovery(faults.repaired, timeline)
    return { verdict, timeline, faults, recoveries, uses, others: describeOthers(facts, acts), settled_ms }
  } finally {
    gateways.stop()
    await receiver.stop()
  }
}

interface Run {
  readonly plan: ChaosPlan
  readonly surroundings: Surroundings
  readonly history: History
  readonly timeline: Timeline
  readonly api: PublicApi
  readonly receiver: RecordingReceiver
  readonly merchants: readonly SimulatedMerchant[]
  readonly faults: FaultRecord
  readonly problems: string[]
  readonly acts: AcceptedActs
}

/** Makes requests and faults. Resolves when all faults are repaired and the last request has ended. */
async function runUnderFaults(run: Run): Promise<void> {
  const { plan, surroundings, timeline, faults, receiver, problems } = run
  const { fleet, servers, links } = surroundings
  const { seed, seconds, kills_max, print } = plan
  const choicesOf = (name: string): Choices => createChoices(seed, name)
  const began_ms = clock.monotonic_ms()
  let is_open = true
  const load = runLoad(
    {
      api: run.api,
      history: run.history,
      origins: receiver.origins,
      choicesOf,
      operator: fleet.operator.clientsOf('backoffice'),
      payments: fleet.payments.clientsOf('payments'),
      acts: run.acts,
      isOpen: () => is_open,
    },
    run.merchants,
  )
  const progress = every(
    PROGRESS_MS,
    async () => print(describeProgress(clock.monotonic_ms() - began_ms, timeline, faults)),
    () => {},
  )
  await injectFaults(
    {
      servers,
      links,
      places: fleet.places,
      choicesOf,
      kills_max,
      print,
      is_long: seconds >= LONG_RUN_S,
      onProblem: (problem) => void problems.push(problem),
      isOver: () => clock.monotonic_ms() - began_ms > seconds * 1_000,
    },
    faults,
  )
  await sleep(AFTER_REPAIR_MS)
  is_open = false
  await load
  progress.cancel()
}

async function createMerchants(
  { fleet }: Surroundings,
  choices: Choices,
  { origins }: RecordingReceiver,
): Promise<readonly SimulatedMerchant[]> {
  const merchants: SimulatedMerchant[] = []
  for (let number = 0; number < MERCHANTS; number += 1) {
    const first = number * ORIGINS_PER_MERCHANT
    const spec = {
      routes: drawRoutes(choices),
      withdrawal_routes: drawWithdrawalRoutes(choices),
      origins: origins.slice(first, first + ORIGINS_PER_MERCHANT),
    }
    // A merchant that was created in part makes no requests.
    merchants.push(
      await retry(() => createMerchant(fleet.operator.clientsOf('backoffice'), choices, number, spec)),
    )
  }
  return merchants
}

/** Compares a callback with what its merchant knows. */
function observeCallback(
  { history, timeline, problems }: Pick<Run, 'history' | 'timeline' | 'problems'>,
  text: string,
  at_ms: number,
): void {
  const { id, merchant_id, data } = JSON.parse(text)
  const { payment } = data.result
  // The callbacks about refunds, chargebacks and tickets are judged by their deliveries.
  if (payment === undefined) return
  const key = recordKey(merchant_id, payment.identifiers.c_id)
  const record = history.payments.get(key)
  if (record === undefined) return void problems.push(`the callback ${id} is about an unknown payment`)
  const { status } = observePayment(history, record, payment)
  if (isFinalStatus(status.status)) timeline.noteFinal(key, status.status, at_ms)
  if (isPaidStatus(status.status)) history.announce(record)
}
