import type { Demo } from './merchant.ts'

/** Calls an RPC as the operator does with curl: JSON over the Connect protocol. Throws with the code of a refusal. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks wherever it likes into an answer
export type Operator = (rpc: string, request: object) => Promise<any>

/** The operator of a system, by its demo.json. Roles in several processes have a URL each, under `<role>_connect_url`. */
export function operatorOf(demo: Demo): Operator {
  return async (rpc, request) => {
    const role = rpc.split('.')[1] ?? ''
    const urls = demo as unknown as Readonly<Record<string, string | undefined>>
    const answer = await fetch(`${urls[`${role}_connect_url`] ?? demo.connect_url}/${rpc}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${demo.operator.token}` },
      body: JSON.stringify(request),
    })
    const body = await answer.json()
    if (!answer.ok) throw new Error(`${rpc}: ${JSON.stringify(body)}`)
    return body
  }
}
