import { createSemaphore } from '#lib/base/limit.ts'
import { every, now } from '#lib/base/time.ts'
import { roleOf } from '#lib/rpc/service.ts'
import { log } from '#lib/telemetry/log.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { type Approval, obsolete, statusAt } from './domain/approval.ts'
import type { Approvals } from './store/approvals.ts'
import { isSubjectOver } from './subjects.ts'

const SWEEP_MS = 5_000
/** The pending approvals of a sweep whose owners are asked whether they are still needed. Others wait for a later sweep. */
const CHECKED_PER_SWEEP = 20
/** The approved calls of one owner that are executed at once. */
const EXECUTED_AT_ONCE = 10

interface ApprovalSweepDeps {
  readonly approvals: Approvals
  readonly callOwner: CallOwner
  readonly execute: (approval: Approval) => Promise<unknown>
}

/**
 * Every 5 s ends what has expired or is obsolete, and executes what was approved and has no answer yet (O5). A call that hangs delays
 * no other call, and ten that hang only calls of the same owner. `sweep` does it now, and resolves when the calls have ended; `stop`
 * begins no more calls, and resolves when nothing is in progress.
 */
export function startApprovalSweep({ approvals, callOwner, execute }: ApprovalSweepDeps) {
  const markObsolete = createObsoleteMarks({ approvals, callOwner })
  /** The calls that are executed or wait for it, by approval. A sweep leaves them out. */
  const working = new Map<string, Promise<void>>()
  const limits = new Map<string, ReturnType<typeof createSemaphore>>()
  let is_stopping = false

  /** Executes an approved call when its owner has room for it. A failure is logged. */
  async function executeInTurn(approval: Approval): Promise<void> {
    const owner = roleOf({ typeName: approval.rpc })
    const limit = limits.get(owner) ?? createSemaphore({ holders_max: EXECUTED_AT_ONCE })
    limits.set(owner, limit)
    await limit.acquire()
    try {
      if (!is_stopping) await execute(approval)
    } catch (error) {
      warn(error)
    } finally {
      limit.release()
    }
  }

  async function begin(): Promise<void> {
    for (const { approval_id } of await approvals.listOverdue(now()))
      await approvals.update(approval_id, (current) =>
        current.status === 'pending' && statusAt(current, now()) === 'expired'
          ? { ...current, status: 'expired' }
          : undefined,
      )
    await markObsolete()
    for (const approval of await approvals.listApproved()) {
      const { approval_id } = approval
      if (working.has(approval_id)) continue
      const ended = executeInTurn(approval).finally(() => working.delete(approval_id))
      working.set(approval_id, ended)
    }
  }

  const end = async (): Promise<void> => void (await Promise.all(working.values()))
  const timer = every(SWEEP_MS, begin, warn)
  return {
    sweep: () => begin().then(end),
    stop: () => {
      is_stopping = true
      return timer.stop().then(end)
    },
  }
}

function warn(error: unknown): void {
  log.warn({ error }, 'approvals could not be read or executed; the next sweep tries again')
}

/**
 * Creates the marks of pending approvals whose subject has ended otherwise, so that lists and numbers have only what can be approved.
 * Each call asks about the next pending ones.
 */
function createObsoleteMarks({ approvals, callOwner }: Pick<ApprovalSweepDeps, 'approvals' | 'callOwner'>) {
  let page_token = ''
  return async (): Promise<void> => {
    const page = await approvals.list('pending', { page_size: CHECKED_PER_SWEEP, page_token })
    page_token = page.next_page_token
    await Promise.all(
      page.items.map(async (approval) => {
        if (await isSubjectOver(approval, callOwner))
          await approvals.update(approval.approval_id, (current) => obsolete(current, now()))
      }),
    )
  }
}
