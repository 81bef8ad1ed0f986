import { type NatsPermissions, USER_INFO_SUBJECT } from '#lib/bus/nats-permissions.ts'
import type { RoleName } from '#lib/role/role.ts'

type Direction = keyof NatsPermissions
type Subjects = Readonly<Record<Direction, readonly string[]>>

/** The subjects that each role uses, as in deploy/nats.conf (O10). */
const USED: Readonly<Record<RoleName, Subjects>> = {
  payments: { publish: ['events.payment.>'], subscribe: ['receipts.*', 'merchants.changed'] },
  support: {
    publish: ['events.ticket.>', 'events.refund.>', 'events.chargeback.>'],
    subscribe: ['receipts.*'],
  },
  notifier: {
    publish: ['receipts.*', 'notifier.wake.*'],
    subscribe: ['events.>', 'notifier.wake.*', 'merchants.changed'],
  },
  merchants: { publish: ['merchants.changed'], subscribe: [] },
  gateway: { publish: [], subscribe: ['merchants.changed'] },
  balances: { publish: [], subscribe: [] },
  attachments: { publish: [], subscribe: [] },
  sandbox: { publish: [], subscribe: [] },
  backoffice: { publish: [], subscribe: [] },
}

/** The subjects of `doctor` itself. */
const OWN = 'doctor.>'

/** What a user of NATS may do that these roles do not need, and what it may not do that they need, in words; none if it fits. */
export function permissionProblems(
  permissions: NatsPermissions,
  names: readonly RoleName[],
  system_name: string,
): readonly string[] {
  return (['publish', 'subscribe'] as const).flatMap((direction) => {
    const used = names.flatMap((name) => USED[name][direction]).map((subject) => `${system_name}.${subject}`)
    const needless = [`${system_name}.${OWN}`, ...(direction === 'publish' ? [USER_INFO_SUBJECT] : [])]
    const verb = `${direction} to`
    const allowed = permissions[direction]?.toSorted()
    if (allowed === undefined) return [`may ${verb} every subject`]
    const more = allowed.filter((pattern) => ![...used, ...needless].some((known) => covers(known, pattern)))
    const less = used.filter((subject) => !allowed.some((pattern) => covers(pattern, subject)))
    return [
      ...(more.length > 0 ? [`may also ${verb} ${more.join(', ')}`] : []),
      ...(less.length > 0 ? [`may not ${verb} ${less.join(', ')}`] : []),
    ]
  })
}

/** Whether a pattern of subjects has all subjects of another one. */
export function covers(pattern: string, other: string): boolean {
  const tokens = pattern.split('.')
  const others = other.split('.')
  if (tokens.at(-1) === '>')
    return others.length >= tokens.length && tokens.slice(0, -1).every((token, at) => fits(token, others[at]))
  return tokens.length === others.length && tokens.every((token, at) => fits(token, others[at]))
}

function fits(token: string, other: string | undefined): boolean {
  return token === other || (token === '*' && other !== '>')
}
