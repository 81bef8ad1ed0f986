import { createContext, useContext } from 'react'
import type { Principal } from '#gen/multihub/backoffice/v1/principal_pb.ts'

/** The principal of this session. */
export const PrincipalContext = createContext<Principal | undefined>(undefined)

/** What this session may do. The server checks it again with every call. */
export function useRights(): {
  readonly may: (right: string) => boolean
  /** Whether it sees one merchant only. */
  readonly is_merchant: boolean
} {
  const principal = useContext(PrincipalContext)
  const rights = principal?.rights ?? []
  return {
    may: (right) => (right === 'read' ? rights.length > 0 : rights.includes(right)),
    is_merchant: (principal?.merchantId ?? '') !== '',
  }
}
