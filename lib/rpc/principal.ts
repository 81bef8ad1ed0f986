import type { HandlerContext } from '@connectrpc/connect'

/** The metadata by which the back office names the principal of a call to an owner. */
export const PRINCIPAL_HEADER = 'x-multihub-principal'

/** The principal of a call that the back office made; empty for a call of another caller. */
export function principalOf({ requestHeader }: Pick<HandlerContext, 'requestHeader'>): string {
  return requestHeader.get(PRINCIPAL_HEADER) ?? ''
}
