/** Whether this process can take work, and which of its parts cannot. */
export interface ReadinessState {
  readonly ready: boolean
  /** The names of the parts, each with the reason in parentheses if there is one. */
  readonly unready_parts: readonly string[]
  /** What parts cannot do although the process is ready, such as `balances: shard 7: newer format`. */
  readonly limitations: readonly string[]
}

/**
 * The response of `/readyz`: a process is ready when all its parts are. Liveness (`/healthz`) is separate: a process that
 * can answer that request is alive.
 */
export interface Readiness {
  /**
   * Sets whether a part can do its work now. A part that was never set counts as ready. `reason` says in words why it
   * cannot, where the operator needs more than the name.
   */
  set(part: string, ready: boolean, reason?: string): void
  /** Sets what a part cannot do although it is ready. */
  setLimitations(part: string, limitations: readonly string[]): void
  state(): ReadinessState
  /** Resolves as soon as the process is ready. */
  whenReady(): Promise<void>
}

/** Creates the readiness of a process. Once `draining` aborts, the process is never ready again. */
export function createReadiness(draining: AbortSignal): Readiness {
  const unready = new Map<string, string | undefined>()
  const limited = new Map<string, readonly string[]>()
  let ready_callbacks: (() => void)[] = []
  const state = (): ReadinessState => {
    const limitations = [...limited].flatMap(([part, texts]) => texts.map((text) => `${part}: ${text}`))
    if (draining.aborted) return { ready: false, unready_parts: ['stopping'], limitations }
    return { ready: unready.size === 0, unready_parts: [...unready].map(described), limitations }
  }
  return {
    set(part, ready, reason) {
      if (ready) unready.delete(part)
      else unready.set(part, reason)
      if (!state().ready) return
      for (const resolve of ready_callbacks) resolve()
      ready_callbacks = []
    },
    setLimitations: (part, limitations) => void limited.set(part, limitations),
    state,
    whenReady: () =>
      new Promise((resolve) => {
        if (state().ready) resolve()
        else ready_callbacks.push(resolve)
      }),
  }
}

function described([part, reason]: readonly [string, string | undefined]): string {
  return reason === undefined ? part : `${part} (${reason})`
}
