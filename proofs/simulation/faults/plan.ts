import { type Choices, createChoices } from '../parts/random.ts'

/** The kinds of faults. A seed switches each kind on or off, and chooses how often it happens. */
export const FAULT_KINDS = [
  'store refuses',
  'store loses commands',
  'store loses results',
  'store is slow',
  'store stops',
  'store fails over',
  'rpc loses requests',
  'rpc loses responses',
  'rpc is late',
  'http refuses',
  'http loses requests',
  'http loses responses',
  'http is late',
  'bus loses',
  'bus repeats',
  'bus is late',
  'bus stops',
  'process is killed',
  'process stops in order',
  'process is paused',
  'clock steps',
  'clock is wrong',
  'provider responds badly',
  'provider is slow',
  'provider loses callbacks',
  'provider repeats callbacks',
  'provider contradicts itself',
  'provider succeeds late',
  'provider account is down',
  'receiver fails',
  'receiver is silent',
  'receiver is slow',
] as const

/** The kinds of faults of the virus scanner, in seeds with files. */
export const SCANNER_FAULT_KINDS = [
  'scanner is gone',
  'scanner hangs',
  'scanner is slow',
  'scanner responds badly',
] as const

/**
 * The kinds that came later. They are drawn by choices of their own, so that a seed keeps all other faults that it had
 * before there were these.
 */
export const LATER_FAULT_KINDS = [
  'roles are partitioned',
  'partition is one-way',
  'partition lasts',
  'rpc repeats requests',
  'http repeats requests',
  'role is killed',
  'release is updated',
  'master key is replaced',
  'provider forgets',
  'receiver is gone',
  'process is killed at a create',
  'provider loses refunds',
  'bus is attacked',
  'provider refuses late',
  'provider reports another id',
  'provider drops operations',
  'provider account moves',
  'provider account is switched',
  'machine is suspended',
] as const

const ALL_KINDS = [...FAULT_KINDS, ...SCANNER_FAULT_KINDS, ...LATER_FAULT_KINDS] as const

/** The name of a kind of faults. */
export type FaultKind = (typeof ALL_KINDS)[number]

/** How a seed is simulated. */
export interface Plan {
  /** The kinds that are on, each with its rate between 0 and 1. */
  readonly faults: ReadonlyMap<FaultKind, number>
  /** How many processes each role has, and whether each process has all roles. */
  readonly copies: number
  readonly is_combined: boolean
  /** Whether the role `sandbox` is the provider. */
  readonly has_sandbox: boolean
  /** Whether merchants send files, which are kept by processes of their own. */
  readonly has_files: boolean
  /** Whether merchants also refund one deposit after the other, as fast as the operator approves. */
  readonly has_refund_series: boolean
  readonly merchants: number
  /** Whether the operator changes registrations during the load. */
  readonly has_operator: boolean
  /** Whether the operator also creates merchants, and each resource of them, with repetitions. */
  readonly has_registrar: boolean
  /** Whether there are processes of the back office, through which the operator acts. */
  readonly has_backoffice: boolean
  /** Whether there is a merchant whose balance has room for one deposit only. */
  readonly has_full_balance: boolean
  readonly customers: number
  readonly load_ms: number
  /** Whether one merchant makes requests for a short time only. */
  readonly is_small: boolean
  /** The kind of backup to which the whole system is restored in the middle of the load; absent in most seeds. */
  readonly restored_to?: BackupKind | undefined
  /** The days without requests after which the load goes on, with short retentions and an archive; absent in most seeds. */
  readonly pause_days?: number | undefined
}

/**
 * `instant`: all databases as they were at one instant. `ordered`: one collection after the other. `between attempts`: at
 * the instant before a payment went to its second account.
 */
export type BackupKind = 'instant' | 'ordered' | 'between attempts'

/** The longest load of a small simulation. */
const SMALL_LOAD_MS = 500

/** The kind of faults with a name. Throws `TypeError` for an unknown one. */
export function faultKind(name: string): FaultKind {
  const kind = ALL_KINDS.find((each) => each === name)
  if (kind === undefined) throw new TypeError(`there is no kind of faults "${name}"`)
  return kind
}

/** The plan of a seed. A small one has one merchant and a short load; the faults are the same. */
export function planOf(seed: number, is_small: boolean): Plan {
  const whole = withLaterFaults(
    chooseWholePlan(createChoices(seed, 'plan')),
    createChoices(seed, 'later faults'),
  )
  const has_refund_series = createChoices(seed, SERIES_NAME).chance(SERIES)
  const planned = withRefundSeries(withFiles(whole, createChoices(seed, FILES_NAME)), has_refund_series)
  const has_registrar = createChoices(seed, 'registrar in the plan').chance(REGISTRAR)
  const has_backoffice = createChoices(seed, BACKOFFICE_NAME).chance(BACKOFFICE)
  const has_full_balance = createChoices(seed, FULL_BALANCE_NAME).chance(FULL_BALANCE)
  const drawn = { ...planned, has_registrar, has_backoffice, has_full_balance, is_small }
  const restored = withRestore(drawn, createChoices(seed, 'restore'))
  const plan = withPause(restored, createChoices(seed, PAUSE_NAME))
  return is_small ? { ...plan, merchants: 1, load_ms: Math.min(plan.load_ms, SMALL_LOAD_MS) } : plan
}

/** The share of seeds in which the operator creates merchants during the load. */
const REGISTRAR = 0.2

/** The share of seeds with a back office. The name of these choices leaves all seeds that failed before without one. */
const BACKOFFICE = 0.25
const BACKOFFICE_NAME = 'audited operator'

/** The share of seeds with a full balance. Few seeds of planted faults have one by this name of the choices. */
const FULL_BALANCE = 0.1
const FULL_BALANCE_NAME = 'balance without room'

/** What is drawn after the rest of the plan, by choices of its own. */
type DrawnLater =
  | 'has_files'
  | 'has_refund_series'
  | 'has_registrar'
  | 'has_backoffice'
  | 'has_full_balance'
  | 'is_small'

/** From 1 in 1,000 to 1 in 4: rare faults find other mistakes than frequent ones. */
function drawRate(choices: Choices): number {
  return 10 ** choices.between(-3, -0.6)
}

/** The share of the later kinds that are on in a seed with faults: about one of them, and none in every third seed. */
const LATER = 0.12

function withLaterFaults<P extends Pick<Plan, 'faults'>>(plan: P, choices: Choices): P {
  const faults = new Map(plan.faults)
  if (faults.size > 0)
    for (const kind of LATER_FAULT_KINDS) if (choices.chance(LATER)) faults.set(kind, drawRate(choices))
  return { ...plan, faults }
}

/** The share of seeds with series of refunds, and the name of these choices. Most seeds of planted faults are without. */
const SERIES = 0.4
const SERIES_NAME = 'series of refunds'

/** A series needs some deposits only, but the time in which they are paid and refunded. */
const SERIES_CUSTOMERS = 4
const SERIES_LOAD_MIN_MS = 4_000

function withRefundSeries<P extends Omit<Plan, Exclude<DrawnLater, 'has_files'>>>(
  plan: P,
  has_refund_series: boolean,
) {
  if (!has_refund_series) return { ...plan, has_refund_series }
  return {
    ...plan,
    has_refund_series,
    customers: SERIES_CUSTOMERS,
    load_ms: Math.max(plan.load_ms, SERIES_LOAD_MIN_MS),
  }
}

/** The share of seeds that are restored, a third of them to each kind of backup. */
const RESTORED = 0.1

function withRestore(plan: Plan, choices: Choices): Plan {
  if (!choices.chance(RESTORED)) return plan
  const faults = new Map([...plan.faults].filter(([kind]) => !NOT_RESTORED.includes(kind)))
  return { ...plan, faults, restored_to: choices.pick(['instant', 'ordered', 'between attempts']) }
}

/**
 * The commands of the present release read no journal of the next one. A backup may lack what a provider has confirmed, or what
 * an account might do.
 */
const NOT_RESTORED: readonly FaultKind[] = [
  'release is updated',
  'provider drops operations',
  'provider account is switched',
]

/** The share of seeds in which days pass between two loads. By this name of the choices no seed of a planted fault is one of them. */
const PAUSED = 0.1
const PAUSE_NAME = 'calendar days pause'

/** With 2 days what identifies a person in what has ended is erased, with 9 days what has ended in the test environment is deleted. */
const PAUSES_DAYS = [2, 9]

/** Acts and files have tests of their own: here payments, the ledger and support are judged. */
function withPause(plan: Plan, choices: Choices): Plan {
  if (!choices.chance(PAUSED) || plan.restored_to !== undefined) return plan
  const faults = new Map([...plan.faults].filter(([kind]) => !NOT_PAUSED.includes(kind)))
  return {
    ...plan,
    faults,
    has_files: false,
    has_backoffice: false,
    has_full_balance: false,
    has_registrar: false,
    pause_days: choices.pick(PAUSES_DAYS),
  }
}

/** `archive` has the keys and the release of one time. A second load has no account that is down for the first one's reasons. */
const NOT_PAUSED: readonly FaultKind[] = [
  'master key is replaced',
  'release is updated',
  'provider drops operations',
  'provider account moves',
  'provider account is switched',
  ...SCANNER_FAULT_KINDS,
]

/** The share of seeds with files. The others have the history that they had before there were files. */
const FILES = 0.4
/** The name of these choices. Of those that were tried, it leaves all seeds that failed before without files. */
const FILES_NAME = 'files in the plan'

function withFiles(
  { faults, ...plan }: ReturnType<typeof chooseWholePlan>,
  choices: Choices,
): Omit<Plan, Exclude<DrawnLater, 'has_files'>> {
  const has_files = choices.chance(FILES)
  const all = new Map(faults)
  if (has_files && faults.size > 0)
    for (const kind of SCANNER_FAULT_KINDS) if (choices.chance(0.4)) all.set(kind, choices.between(0.05, 0.5))
  return { ...plan, faults: all, has_files }
}

function chooseWholePlan(choices: Choices): Omit<Plan, DrawnLater> {
  const share = choices.pick([0, 0.1, 0.3, 0.3, 0.6])
  const faults = new Map<FaultKind, number>()
  for (const kind of FAULT_KINDS) if (choices.chance(share)) faults.set(kind, drawRate(choices))
  return {
    faults,
    copies: choices.pick([1, 2, 2, 3]),
    is_combined: choices.chance(0.2),
    merchants: choices.integer(1, 3),
    has_operator: choices.chance(0.4),
    has_sandbox: choices.chance(0.25),
    customers: choices.pick([1, 4, 12, 24]),
    load_ms: choices.pick([1_000, 3_000, 6_000]),
  }
}
