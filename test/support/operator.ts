import { uuidv7 } from '#lib/base/ids.ts'
import type { Demo } from './merchant.ts'
import { needsOperationId } from './operation-ids.ts'

/** Calls an RPC as the operator does with curl: JSON at the back office. Throws with the code of a refusal. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a response
export type Operator = (rpc: string, request: object) => Promise<any>

/**
 * Makes the operator of a system from its demo.json. A creation without an `operationId` gets one of its own.
 */
export function operatorOf(demo: Demo): Operator {
  return async (rpc, request) => {
    const given = needsOperationId(rpc.split('/')[1] ?? '') ? { operationId: uuidv7(), ...request } : request
    const response = await fetch(`${demo.backoffice_url}/${rpc}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${demo.operator.token}` },
      body: JSON.stringify(given),
    })
    const body = await response.json()
    if (!response.ok) throw new Error(`${rpc}: ${JSON.stringify(body)}`)
    return body
  }
}
