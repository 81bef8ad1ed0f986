import type { Message } from '@bufbuild/protobuf'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { ServedMethod } from '#lib/rpc/service.ts'
import { AUDIT_HEADER, CALL_TIMEOUT_MAX_MS } from '#lib/rpc/settings.ts'
import type { KeptAct } from '#lib/store/kept-acts.ts'
import { log } from '#lib/telemetry/log.ts'
import { nameOfRpc, type OperatorRpc } from '../domain/operator-rpcs.ts'
import type { Principal } from '../domain/principal.ts'
import { fieldsOf } from '../door/message-fields.ts'
import type { Act, ActOfSignIn, OperatorCall } from '../door/operator-call.ts'
import { errorCodeOf, isUnclear } from '../door/refusals.ts'
import type { Audit } from './audit.ts'
import type { FindAct } from './complete-acts.ts'
import {
  type AuditIntent,
  type AuditOutcome,
  type AuditTarget,
  additionTo,
  SIGN_IN,
} from './domain/audit-record.ts'
import { maskMessage } from './domain/mask-message.ts'
import type { FindMerchant } from './find-merchant.ts'

interface ActDeps {
  readonly audit: Pick<Audit, 'begin' | 'end'>
  readonly findAct: FindAct
  readonly now_ms: () => number
}

/**
 * Surrounds each act with its intent, which is durable before, and its outcome (O4). Without the intent nothing is done: then it
 * throws `Unavailable`.
 */
export function createAuditedAct({
  audit,
  findAct,
  findMerchant,
  now_ms,
}: ActDeps & { readonly findMerchant: FindMerchant }): Act {
  return async (call, run) => {
    const asked = intentOf(call, now_ms())
    const intent = { ...asked, merchant_id: asked.merchant_id || (await findMerchant(call.request)) }
    const audit_id = await audit.begin(intent)
    let is_begun = false
    let answer: Message
    try {
      answer = await run(() => {
        is_begun = true
        return { [AUDIT_HEADER]: audit_id }
      })
    } catch (error) {
      await audit.end(audit_id, outcomeOf(error, is_begun))
      throw error
    }
    const { method, changes } = call.rpc
    const change = changes
      ? { after: maskMessage(method.output, answer), ...(await changeOf(findAct, audit_id, intent)) }
      : {}
    const added = additionTo(intent, targetsOfAnswer(method, answer))
    await audit.end(audit_id, { outcome: 'done', ...change, added })
    return answer
  }
}

/** What the act changed, as its owner has kept it. What is not known is left out: the act is done all the same. */
async function changeOf(
  findAct: FindAct,
  audit_id: string,
  { rpc, request }: AuditIntent,
): Promise<Partial<KeptAct>> {
  try {
    const { before, after } = (await findAct({ audit_id, rpc, request })) ?? {}
    return {
      ...(before !== undefined && before !== '{}' && { before }),
      ...(after !== undefined && after !== '{}' && { after }),
    }
  } catch (error) {
    log.warn({ error, kind: rpc }, 'the owner of an act could not be asked what it has changed')
    return {}
  }
}

/** Surrounds each sign-in with its intent and its outcome, like the call of an RPC. */
export function createActOfSignIn({ audit, findAct, now_ms }: ActDeps): ActOfSignIn {
  return async ({ principal_id, name, merchant_id, method, address }, run) => {
    const intent: AuditIntent = {
      principal_id,
      principal_name: name,
      rpc: SIGN_IN,
      merchant_id,
      targets: [{ kind: 'principal', id: principal_id }],
      request: JSON.stringify({ method, address }),
      request_id: currentRequest()?.request_id ?? '',
      deadline: new Date(now_ms() + CALL_TIMEOUT_MAX_MS),
    }
    const audit_id = await audit.begin(intent)
    try {
      const result = await withRequest({ ...currentRequest(), act: { audit_id, is_over: false } }, run)
      await audit.end(audit_id, { outcome: 'done', ...(await changeOf(findAct, audit_id, intent)) })
      return result
    } catch (error) {
      await audit.end(audit_id, outcomeOf(error))
      throw error
    }
  }
}

/**
 * Records a call that was refused for a missing right, before its message was read (O1). An entry for several calls says in its
 * request how many they were (O22).
 */
export function createRefusedCall({ audit, now_ms }: Omit<ActDeps, 'findAct'>) {
  return async (rpc: OperatorRpc, principal: Principal, error: unknown, calls = 1): Promise<void> => {
    const one = intentOf({ rpc, principal, request: undefined, reason: undefined }, now_ms())
    const intent = calls === 1 ? one : { ...one, request: JSON.stringify({ refused_calls: calls }) }
    try {
      await audit.end(await audit.begin(intent), outcomeOf(error))
    } catch (failure) {
      // It was refused all the same.
      log.error({ error: failure }, 'a refused call could not be written to the audit trail')
    }
  }
}

function intentOf(
  {
    rpc,
    principal,
    request,
    reason,
  }: Omit<OperatorCall, 'request'> & { readonly request: Message | undefined },
  now_ms: number,
): AuditIntent {
  const context = currentRequest()
  const left_ms =
    context?.deadline_ms === undefined ? CALL_TIMEOUT_MAX_MS : context.deadline_ms - clock.monotonic_ms()
  const { method } = rpc
  const targets = request === undefined ? [] : targetsOf(request)
  const merchant_id = targets.find(({ kind }) => kind === 'merchant')?.id ?? principal.merchant_id
  return {
    principal_id: principal.principal_id,
    principal_name: principal.name,
    rpc: nameOfRpc(method),
    merchant_id,
    targets,
    reason,
    request: request === undefined ? '{}' : maskMessage(method.input, request),
    request_id: context?.request_id ?? '',
    deadline: new Date(now_ms + Math.max(0, left_ms)),
    approval_id: targets.find(({ kind }) => kind === 'approval')?.id,
  }
}

/** Ids of a request that name no thing. */
const NO_TARGETS: ReadonlySet<string> = new Set(['operation', 'document'])

/** What a message names: `paymentId` is a target of the kind `payment`, each of `paymentIds` too. */
function targetsOf(message: object): AuditTarget[] {
  return Object.entries(message).flatMap(([name, value]: [string, unknown]): AuditTarget[] => {
    const [, word] = /^(\w+)Ids?$/.exec(name) ?? []
    if (word === undefined) return []
    const kind = word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    if (NO_TARGETS.has(kind)) return []
    const ids: readonly unknown[] = Array.isArray(value) ? value : [value]
    return ids
      .map(String)
      .filter((id) => id !== '' && id !== '0')
      .map((id) => ({ kind, id }))
  })
}

/** What an answer names: its ids, and the first field of each message in it, which is the id of a resource. */
function targetsOfAnswer({ output }: ServedMethod, answer: Message): AuditTarget[] {
  const resources = output.fields.flatMap((field): AuditTarget[] => {
    const [first] = field.message?.fields ?? []
    const value = fieldsOf(answer)[field.localName]
    if (field.fieldKind !== 'message' || first === undefined || value === undefined) return []
    return targetsOf({ [first.localName]: fieldsOf(value as Message)[first.localName] })
  })
  return [...targetsOf(answer), ...resources]
}

/** What an error says of an act. Before anything was sent for it, nothing is done, whatever the error leaves open. */
function outcomeOf(error: unknown, is_begun = true): AuditOutcome {
  const error_code = errorCodeOf(error)
  if (is_begun && isUnclear(error)) return { outcome: 'unknown', error_code }
  const { approval_id, status } = (error instanceof PublicError ? error.details : undefined) ?? {}
  if (typeof approval_id !== 'string') return { outcome: 'refused', error_code }
  return { outcome: status === 'pending' ? 'pending_approval' : 'refused', error_code, approval_id }
}
