import type { KeptAct } from '#lib/store/kept-acts.ts'

/** Finds out what an act has done here; `undefined` when nothing has its id. `call` is the call of the act, masked. */
export type FindAct = (
  audit_id: string,
  call: { readonly rpc: string; readonly request: string },
) => Promise<KeptAct | undefined>

interface ActCall {
  readonly auditId: string
  readonly rpc: string
  readonly request: string
}

/** Makes the answer of the RPC `FindAct`, with which the back office completes an act whose outcome it does not know. */
export function answerFindAct(findAct: FindAct) {
  return async ({ auditId, rpc, request }: ActCall) => {
    const act = await findAct(auditId, { rpc, request })
    return act === undefined ? { isDone: false } : { isDone: true, ...act }
  }
}
