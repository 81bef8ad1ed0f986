import { useRef } from 'react'
import type { Decision, Machine } from '../../forms/run-act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { delay, newOperationId } from '../call/machine.ts'
import { isUnclear } from '../call/problem.ts'
import { uploadFile } from '../call/upload.ts'

const PAUSE_MS = 500

/** The parts of the browser that an act needs, under the reason of the person. */
export function machineOf(reason: string, progress: (sentence: string) => void): Machine {
  const options = reason === '' ? {} : { reason }
  return {
    call: (method, request) => callRpc(method, request, options),
    upload: (path, file) =>
      uploadFile(path, file as File, reason, (share) =>
        progress(`${Math.floor(share * 100)} % of the file is sent…`),
      ),
    progress,
    pause: () => delay(PAUSE_MS),
  }
}

/**
 * The idempotency key of a decision. It stays the same while the decision is sent again, and after an answer that was lost also when the
 * person changes the decision: if the first one was done after all, the server refuses the second one instead of doing both.
 */
export function useOperationId() {
  const kept = useRef<{ id: string; decision: string; is_unclear: boolean }>(undefined)
  return {
    idOf({ file, ...rest }: Omit<Decision, 'operation_id'>): string {
      const decision = JSON.stringify([rest, file?.name, file?.size])
      const known = kept.current
      if (known !== undefined && (known.is_unclear || known.decision === decision)) return known.id
      kept.current = { id: newOperationId(), decision, is_unclear: false }
      return kept.current.id
    },
    isRefused(error: unknown): void {
      if (kept.current !== undefined) kept.current.is_unclear = isUnclear(error)
    },
    isDecided(): void {
      if (kept.current !== undefined) kept.current.is_unclear = false
    },
  }
}
