/** The labels of an alert. */
export type Labels = Readonly<Record<string, string>>

/** The values of one series, one per step. The name of a pod is its label `instance`. */
type Series = readonly [pod: string, labels: string, values: string]

/** What an alert does at a time. */
export type Check = readonly [at_s: number, fires: boolean]

/** Series of two systems: one is just over the limit of an alert, the other just under it. */
export interface Limit {
  readonly metric: string
  readonly over: readonly Series[]
  readonly under: readonly Series[]
  /** The labels that the alert keeps. */
  readonly labels?: Labels
  readonly checks: readonly Check[]
}

/** The time between two values of a series. */
export const STEP_S = 15
/** More than all else in the range of an alert. */
const JUMP = 1e7

/** Each alert of a gauge, with values of up to three pods. The last column has the labels that the alert keeps. */
const GAUGES: readonly (readonly [
  alert: string,
  metric: string,
  for_s: number,
  over: readonly number[],
  under: readonly number[],
  labels: Labels,
])[] = [
  ['MultihubClockOff', 'multihub_clock_offset_seconds', 120, [-1.1], [1, -1], { instance: 'a' }],
  [
    'MultihubStoreFull',
    'multihub_store_free_bytes',
    300,
    [999_999_999, 2e9],
    [1_000_000_000],
    { instance: 'a' },
  ],
  ['MultihubBusDown', 'multihub_bus_connected', 300, [0, 1], [1], { instance: 'a' }],
  ['MultihubReceiptsMissing', 'multihub_event_receipts_missing', 300, [1, 0], [0], { instance: 'a' }],
  ['MultihubBusAcceptsUnsigned', 'multihub_bus_accepts_unsigned', 3600, [0, 1], [0], {}],
  ['MultihubRegistryOld', 'multihub_registry_cache_age_seconds', 0, [11, 1], [10], { instance: 'a' }],
  ['MultihubLedgerCorrupt', 'multihub_ledger_corrupt_shards', 0, [1, 0], [0], { instance: 'a' }],
  ['MultihubLedgerStopped', 'multihub_ledger_stopped_shards', 0, [1, 1, 0], [0], {}],
  ['MultihubLedgerProblems', 'multihub_ledger_problems', 0, [1, 1, 0], [0], {}],
  ['MultihubAuditOverdue', 'multihub_audit_overdue_acts', 300, [1, 0], [0], { instance: 'a' }],
  ['MultihubLedgerNewerFormat', 'multihub_ledger_newer_format_shards', 1800, [1, 0], [0], { instance: 'a' }],
  [
    'MultihubEffectsLate',
    'multihub_effects_oldest_due_seconds{documents="payments",lane="money"}',
    300,
    [301, 301, 0],
    [300, 300],
    { documents: 'payments', lane: 'money' },
  ],
  [
    'MultihubEffectsStuck',
    'multihub_stuck_effect_documents{documents="payments"}',
    0,
    [1, 1, 0],
    [0],
    { documents: 'payments' },
  ],
  ['MultihubAnomalies', 'multihub_open_anomalies{environment="production"}', 0, [1, 1, 0], [0], {}],
  [
    'MultihubProviderCircuitOpen',
    'multihub_provider_circuit_open{provider_account="p"}',
    300,
    [1, 1, 0],
    [0, 0],
    { provider_account: 'p' },
  ],
  [
    'MultihubDeliveriesLate',
    'multihub_delivery_oldest_due_seconds{waits_in="deliveries"}',
    600,
    [301, 1],
    [300],
    { instance: 'a', waits_in: 'deliveries' },
  ],
  [
    'MultihubEventsUnconfirmed',
    'multihub_delivery_oldest_due_seconds{waits_in="payments"}',
    60,
    [121, 0],
    [120, 120],
    { waits_in: 'payments' },
  ],
  [
    'MultihubBackupOld',
    'multihub_operation_success_age_seconds{kind="backup"}',
    900,
    [93_601, 93_601],
    [93_600, 93_600],
    {},
  ],
  [
    'MultihubCertificateEnding',
    'multihub_certificate_remaining_seconds{setting="MULTIHUB_TLS_CA"}',
    900,
    [1_209_599, 2_000_000],
    [1_209_600, 1_209_600],
    { setting: 'MULTIHUB_TLS_CA' },
  ],
  [
    'MultihubVerifyOld',
    'multihub_operation_success_age_seconds{kind="verify"}',
    900,
    [691_201, 691_201],
    [691_200, 691_200],
    {},
  ],
  ['MultihubRoleUnready', 'multihub_ready{role="payments"}', 120, [0, 0], [0, 1], { role: 'payments' }],
]

/** Each alert of a rate: its limit per second, and labels of what counts and of what does not. */
const RATES: readonly (readonly [
  alert: string,
  metric: string,
  times: readonly [for_s: number, range_s: number],
  limit: number,
  counted: string,
  others: readonly string[],
  labels: Labels,
])[] = [
  [
    'MultihubProviderCallbacksUnverified',
    'multihub_provider_callbacks_total{provider_account="p"}',
    [600, 600],
    0.1,
    'result="unverified"',
    ['result="applied"'],
    { provider_account: 'p' },
  ],
  [
    'MultihubNoncesUnverified',
    'multihub_gateway_nonces_unverified_total{outcome="accepted"}',
    [300, 300],
    0,
    '',
    [],
    { instance: 'a', outcome: 'accepted' },
  ],
  [
    'MultihubBusForged',
    'multihub_bus_unauthentic_total{message="event",reason="forged"}',
    [0, 300],
    0,
    '',
    [],
    { message: 'event', reason: 'forged' },
  ],
  ['MultihubEventsWithoutDeliveries', 'multihub_events_without_deliveries_total', [0, 600], 0, '', [], {}],
  [
    'MultihubArchiveUnreadable',
    'multihub_archive_reads_total{collection="payments"}',
    [0, 300],
    0,
    'result="failed"',
    ['result="read"', 'result="cached"'],
    { collection: 'payments' },
  ],
  ['MultihubLogLinesDropped', 'multihub_log_lines_dropped_total', [300, 300], 0, '', [], { instance: 'a' }],
]

/**
 * Each alert of a share: its limit, labels of what it counts in each of two pods, and of calls that it must not see. `longest_s` is
 * the longer range in which it needs a larger share of fewer calls.
 */
const SHARES: readonly (readonly [
  alert: string,
  metric: string,
  times: readonly [for_s: number, range_s: number, longest_s?: number],
  limit: number,
  bad: readonly [string, string],
  good: string,
  unseen: readonly string[],
  labels: Labels,
])[] = [
  [
    'MultihubRpcsFailing',
    'multihub_rpc_seconds_count',
    [300, 300],
    0.01,
    ['service="s",code="Internal"', 'service="s",code="Unknown"'],
    'service="s",code="Ok"',
    ['service="other",code="Ok"'],
    { service: 's' },
  ],
  [
    'MultihubRequestsFailing',
    'multihub_gateway_request_seconds_count',
    [300, 300, 1800],
    0.01,
    ['method="payment.out",code="2001"', 'method="payment.out",code="2002"'],
    'method="payment.out",code="ok"',
    ['method="payment.status",code="ok"'],
    { method: 'payment.out' },
  ],
  [
    'MultihubProviderUnclear',
    'multihub_provider_call_seconds_count{provider_account="p"}',
    [600, 600],
    0.2,
    ['operation="create",outcome="unknown"', 'operation="create",outcome="unknown"'],
    'operation="create",outcome="success"',
    ['operation="look_up",outcome="unknown"', 'operation="look_up",outcome="success"'],
    { provider_account: 'p' },
  ],
]

/** Each alert of a quantile: two bounds of its buckets, and how many of 100 calls end within the lower one. */
const QUANTILES: readonly (readonly [
  alert: string,
  metric: string,
  bounds: readonly [number, number],
  over: number,
  under: number,
  labels: Labels,
])[] = [
  ['MultihubLedgerBehind', 'multihub_ledger_command_seconds', [1, 2.5], 66, 73, {}],
  [
    'MultihubStoreSlow',
    'multihub_store_seconds{role="payments",operation="insert"}',
    [1, 2.5],
    89,
    91,
    { role: 'payments', operation: 'insert' },
  ],
]

/** The limits of all alerts but `MultihubRoleGone`, by the name of the alert. */
export const LIMITS: ReadonlyMap<string, Limit> = new Map([
  ...GAUGES.map(gaugeLimit),
  ...RATES.map(rateLimit),
  ...SHARES.map(shareLimit),
  ...QUANTILES.map(quantileLimit),
  ['MultihubDeliveriesDead', deadDeliveries()],
  ['MultihubVersionsMixed', mixedVersions('version="1",commit="b"')],
])

function gaugeLimit([alert, metric, for_s, over, under, labels]: (typeof GAUGES)[number]): [string, Limit] {
  const series = (values: readonly number[]): readonly Series[] =>
    values.map((value, index) => [podOf(index), '', `${value}x300`])
  return [alert, { metric, labels, over: series(over), under: series(under), checks: startChecks(for_s, 0) }]
}

function rateLimit(row: (typeof RATES)[number]): [string, Limit] {
  const [alert, metric, [for_s, range_s], limit, counted, others, labels] = row
  const last = for_s / STEP_S + 8
  const noise = others.map((other): Series => ['a', other, growing(1000)])
  // An alert that keeps the pod decides by one, and another by the sum of all.
  const pods = labels['instance'] === undefined ? ['a', 'b'] : ['a']
  const per_step = (limit * STEP_S) / pods.length
  const in_range = (per_step * 1.1 * range_s) / STEP_S || 1
  // The first step counts as much as a whole range, because a rate grows until its range has all its samples.
  const over = pods.map((pod): Series => {
    const steps = `${in_range}+${per_step * 1.1 || 1}x${last - 1}`
    return [pod, counted, `0 ${steps} ${JUMP}x400`]
  })
  const under = pods.map((pod): Series => [pod, counted, growing(per_step * 0.9)])
  const checks = [...startChecks(for_s, STEP_S), ...endChecks(last, range_s)]
  return [alert, { metric, labels, over: [...over, ...noise], under: [...under, ...noise], checks }]
}

/**
 * First the share is just over the limit, in which both pods take part. Then there is a jump of good calls, which hides the
 * others for the range and starts the time again; then a jump of bad calls, which are the last ones.
 */
function shareLimit(row: (typeof SHARES)[number]): [string, Limit] {
  const [alert, metric, [for_s, range_s, longest_s = range_s], limit, bad, good, unseen, labels] = row
  const first = for_s / STEP_S + 8
  const last = first + (range_s + for_s) / STEP_S + 8
  const noise = unseen.map((other): Series => ['a', other, growing(1e5)])
  const series = (share: number, goods: string, bads: (per_step: number) => string): readonly Series[] => [
    ...bad.map((own, index): Series => [podOf(index), own, bads(1000 * share)]),
    ...bad.map((_, index): Series => [podOf(index), good, index === 0 ? goods : growing(1000 * (1 - share))]),
    ...noise,
  ]
  const share = limit * 1.1
  const checks: readonly Check[] = [
    ...startChecks(for_s, STEP_S),
    [(first + 2) * STEP_S, false],
    [first * STEP_S + range_s + for_s - 2 * STEP_S, false],
    [first * STEP_S + range_s + for_s + 2 * STEP_S, true],
    ...endChecks(last, longest_s),
  ]
  const over = series(share, hiding(1000 * (1 - share), first), (per_step) => jumping(per_step, last))
  const under = series(limit * 0.9, growing(1000 * (1 - limit * 0.9)), growing)
  return [alert, { metric, labels, over, under, checks }]
}

/** One pod has 900 fast calls per step, and the other 100, some of them slow. At the end is a jump of slow calls. */
function quantileLimit(row: (typeof QUANTILES)[number]): [string, Limit] {
  const [alert, metric, [lower, upper], over, under, labels] = row
  const last = 600 / STEP_S + 8
  const series = (fast: number, slow: (per_step: number) => string): readonly Series[] =>
    [
      [lower, growing(900), growing(fast)],
      [upper, growing(900), slow(100)],
      ['+Inf', growing(900), slow(100)],
    ].flatMap(([le, a, b]): readonly Series[] => [
      ['a', `le="${le}"`, `${a}`],
      ['b', `le="${le}"`, `${b}`],
    ])
  return [
    alert,
    {
      metric: metric.replace(/(?=\{|$)/, '_bucket'),
      labels,
      over: series(over, (per_step) => jumping(per_step, last)),
      under: series(under, growing),
      checks: [...startChecks(600, STEP_S), ...endChecks(last, 300)],
    },
  ]
}

/** Callbacks that die at once, in two pods, are counted for an hour. Callbacks of tests are not. */
function deadDeliveries(): Limit {
  const series = (dead: number): readonly Series[] => [
    ...['a', 'b'].map((pod): Series => [pod, 'environment="production"', `0x20 ${dead / 2}x400`]),
    ['a', 'environment="test"', `0x20 ${JUMP}x400`],
  ]
  const checks = [[20 * STEP_S, false], [21 * STEP_S, true], ...endChecks(20, 3600)] as const
  return { metric: 'multihub_dead_deliveries_total', over: series(110), under: series(90), checks }
}

/** Three pods, one of them of another release; and two pods of another system, both of one release. */
export function mixedVersions(other: string): Limit {
  const series = (last: string): readonly Series[] =>
    ['version="1",commit="a"', 'version="1",commit="a"', last].map((own, index) => [
      podOf(index),
      own,
      '1x300',
    ])
  const checks = startChecks(3600, 0)
  return {
    metric: 'multihub_build_info',
    over: series(other),
    under: series('version="1",commit="a"'),
    checks,
  }
}

/** The alert does not fire before the condition has lasted long enough, and then it does. */
function startChecks(for_s: number, start_s: number): readonly Check[] {
  const before: Check = [start_s + for_s - STEP_S, false]
  return [...(for_s > 0 ? [before] : []), [start_s + for_s, true]]
}

/** After the jump that follows this step the alert fires as long as the range sees it. */
function endChecks(step: number, range_s: number): readonly [Check, Check] {
  const end_s = step * STEP_S + range_s
  return [
    [end_s - 2 * STEP_S, true],
    [end_s + 2 * STEP_S, false],
  ]
}

/** A counter that grows by this in each step. */
function growing(per_step: number): string {
  return `0+${per_step}x400`
}

/** A counter that grows until this step, then jumps, and stays. */
function jumping(per_step: number, last: number): string {
  return `0+${per_step}x${last} ${JUMP}x400`
}

/** A counter that grows, jumps after this step, and grows on. */
function hiding(per_step: number, last: number): string {
  return `0+${per_step}x${last} ${JUMP}+${per_step}x400`
}

function podOf(index: number): string {
  return 'abc'[index] ?? ''
}

/** One series of a system, as promtool reads it. */
export function seriesOf(metric: string, namespace: string, [pod, own, values]: Series): object {
  const [name = '', more = ''] = metric.replace('}', '').split('{')
  const labels = [`namespace="${namespace}"`, `instance="${pod}"`, more, own].filter((text) => text !== '')
  return { series: `${name}{${labels.join(',')}}`, values }
}
