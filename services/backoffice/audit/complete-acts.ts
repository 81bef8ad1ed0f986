import { every } from '#lib/base/time.ts'
import { log as processLog } from '#lib/telemetry/log.ts'
import { counter, gauge } from '#lib/telemetry/metrics.ts'
import type { AppendRecord } from './append-records.ts'
import type { IntentRecord } from './domain/audit-record.ts'
import type { AuditLog } from './store/audit-log.ts'

/** How long after its deadline an act without an outcome is completed (O4): its process may still write the outcome. */
export const COMPLETE_AFTER_MS = 60_000

const SWEEP_MS = 10_000
const BATCHES_PER_READ = 64

/** Whether the owner of an RPC has kept the `audit_id` of an act in what it changed; `undefined` when it cannot say. */
export type FindAct = (intent: IntentRecord) => Promise<boolean | undefined>

const completed_total = counter(
  'multihub_audit_completed_total',
  'Acts of the audit trail whose process wrote no outcome and that another one completed, by outcome.',
  ['outcome'],
)
const overdue_acts = gauge(
  'multihub_audit_overdue_acts',
  'Acts of the audit trail without an outcome that should have been completed and could not.',
)

interface CompleteDeps {
  readonly log: Pick<AuditLog, 'listFrom' | 'getCompleted' | 'setCompleted'>
  readonly append: AppendRecord
  readonly findAct: FindAct
  readonly now_ms: () => number
}

/**
 * Completes the acts whose process was lost before it wrote an outcome: as done when the owner has the act, as unknown when it
 * cannot say. Every process follows the whole audit trail; that a record is unique keeps them from completing an act twice.
 * `sweep` does it once; it is repeated every 10 s.
 */
export function startCompletion({ log, append, findAct, now_ms }: CompleteDeps) {
  const open = new Map<string, { readonly intent: IntentRecord; readonly seq: bigint }>()
  let read_to: bigint | undefined

  /** Reads the batches that are new, and returns the last batch before the first act that is open. */
  async function follow(): Promise<bigint> {
    let from = read_to ?? (await log.getCompleted())
    for (;;) {
      const batches = await log.listFrom(from + 1n, BATCHES_PER_READ)
      for (const { seq, records } of batches) {
        for (const record of records) {
          if (record.kind === 'intent') open.set(record.audit_id, { intent: record, seq })
          else open.delete(record.audit_id)
        }
        from = seq
      }
      read_to = from
      if (batches.length < BATCHES_PER_READ) return [...open.values()].reduce(earlier, from)
    }
  }

  async function complete(intent: IntentRecord): Promise<void> {
    const { audit_id } = intent
    const is_done = await findAct(intent)
    const outcome = is_done === true ? 'done' : 'unknown'
    await append({ kind: 'completion', audit_id, outcome })
    open.delete(audit_id)
    completed_total.increment({ outcome })
    processLog.warn(
      { kind: intent.rpc, event: outcome },
      'an act of the audit trail had no outcome and was completed',
    )
  }

  async function sweep(): Promise<void> {
    const completed_to = await follow()
    const overdue = [...open.values()].filter(
      ({ intent }) => intent.deadline.getTime() + COMPLETE_AFTER_MS <= now_ms(),
    )
    const results = await Promise.allSettled(overdue.map(({ intent }) => complete(intent)))
    const failures = results.filter((result) => result.status === 'rejected')
    overdue_acts.set({}, failures.length)
    const [failure] = failures
    if (failure !== undefined)
      processLog.warn({ error: failure.reason }, 'acts of the audit trail could not be completed')
    await log.setCompleted(completed_to)
  }

  const timer = every(SWEEP_MS, sweep, (error) => {
    processLog.warn({ error }, 'the audit trail could not be read for acts without an outcome')
  })
  return { sweep, stop: timer.stop }
}

function earlier(seq: bigint, { seq: of_act }: { readonly seq: bigint }): bigint {
  return of_act <= seq ? of_act - 1n : seq
}
