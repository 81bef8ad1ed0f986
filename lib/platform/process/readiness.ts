/** Whether this process should be given work, and what it still waits for. */
export interface ReadinessState {
  readonly ready: boolean
  readonly unready_parts: readonly string[]
}

/**
 * What `/readyz` answers. A part that can be unready says so here; a process is ready when none is. Being alive
 * (`/healthz`) is another question: whoever can answer it is.
 */
export interface Readiness {
  /** Says whether a part can do its work now. A part that never says anything is ready. */
  set(part: string, ready: boolean): void
  state(): ReadinessState
  /** Resolves when the process is ready for the first time from now on. */
  whenReady(): Promise<void>
}

/** Makes the readiness of a process; it turns off for good when `stopping` is aborted. */
export function createReadiness(stopping: AbortSignal): Readiness {
  const waiting = new Set<string>()
  let waiters: (() => void)[] = []
  const state = (): ReadinessState => {
    if (stopping.aborted) return { ready: false, unready_parts: ['stopping'] }
    return { ready: waiting.size === 0, unready_parts: [...waiting] }
  }
  return {
    set(part, ready) {
      if (ready) waiting.delete(part)
      else waiting.add(part)
      if (!state().ready) return
      for (const resolve of waiters) resolve()
      waiters = []
    },
    state,
    whenReady: () =>
      new Promise((resolve) => {
        if (state().ready) resolve()
        else waiters.push(resolve)
      }),
  }
}
