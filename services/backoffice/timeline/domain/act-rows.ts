import { codeText, ORDER, type TimelineRow } from './timeline-row.ts'

/** One act of the audit trail, as far as the timeline shows it. */
export interface Act {
  readonly audit_id: string
  readonly time: Date
  readonly principal_id: string
  readonly principal_name: string
  readonly rpc: string
  readonly targets: readonly { readonly kind: string; readonly id: string }[]
  readonly reason?: string | undefined
  readonly outcome?: 'done' | 'refused' | 'pending_approval' | 'unknown' | undefined
  readonly error_code?: number | undefined
  readonly approval_id?: string | undefined
}

/** The rows of the operator's acts. Each has the time of its intent, which is before what it changed. Pure. */
export function actRows(acts: readonly Act[], payment_id: string): TimelineRow[] {
  return acts.map((act): TimelineRow => {
    const { audit_id, principal_name, rpc, reason } = act
    const name = rpc.slice(rpc.lastIndexOf('.') + 1)
    const why = reason === undefined || reason === '' ? '' : `. Reason: ${reason}`
    return {
      key: `act:${audit_id}`,
      time: act.time,
      kind: 'operator_act',
      order: ORDER.act,
      title: `${principal_name} called ${name}: ${outcomeText(act)}${why}`,
      refs: [
        { kind: 'audit', id: audit_id },
        { kind: 'principal', id: act.principal_id },
        ...act.targets.filter(({ id }) => id !== payment_id),
      ],
      data: {
        audit_id,
        principal_id: act.principal_id,
        principal_name,
        rpc,
        outcome: act.outcome,
        error_code: act.error_code,
        approval_id: act.approval_id,
        reason,
      },
    }
  })
}

function outcomeText({ outcome, error_code = 0 }: Act): string {
  switch (outcome) {
    case 'done':
      return 'done'
    case 'refused':
      return error_code === 0 ? 'refused' : `refused, ${codeText(error_code)}`
    case 'pending_approval':
      return 'waits for a second person'
    case 'unknown':
      return 'it is not known whether it was done'
    case undefined:
      return 'has not ended yet'
  }
}
