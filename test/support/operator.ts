import { uuidv7 } from '#lib/base/ids.ts'
import type { Demo } from './merchant.ts'
import { needsOperationId } from './operation-ids.ts'

/** Calls an RPC as the operator does with curl: JSON over the Connect protocol. Throws with the code of a refusal. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a response
export type Operator = (rpc: string, request: object) => Promise<any>

/**
 * Makes the operator of a system from its demo.json. With one process per role each has a `<role>_connect_url`. A creation
 * without an `operationId` gets one of its own.
 */
export function operatorOf(demo: Demo): Operator {
  return async (rpc, request) => {
    const given = needsOperationId(rpc.split('/')[1] ?? '') ? { operationId: uuidv7(), ...request } : request
    const role = rpc.split('.')[1] ?? ''
    const urls = demo as unknown as Readonly<Record<string, string | undefined>>
    const response = await fetch(`${urls[`${role}_connect_url`] ?? demo.connect_url}/${rpc}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${demo.operator.token}` },
      body: JSON.stringify(given),
    })
    const body = await response.json()
    if (!response.ok) throw new Error(`${rpc}: ${JSON.stringify(body)}`)
    return body
  }
}
