type StatesOfProcess = Map<object, unknown>

let statesOfProcess: (() => StatesOfProcess) | undefined

/**
 * Makes the accessor of a value that every process has once. A module keeps its mutable state in it, because several
 * simulated processes share the module and must not share the state.
 */
export function processState<T>(create: () => T): () => T {
  const own = create()
  const key = {}
  return () => {
    if (statesOfProcess === undefined) return own
    const states = statesOfProcess()
    const existing = states.get(key)
    // Only this function writes this key, so the value is a `T`.
    if (existing !== undefined) return existing as T
    const created = create()
    states.set(key, created)
    return created
  }
}

/** Keeps the states of each process apart, for simulation and tests only, until the returned function is called. */
export function useProcessStates(replacement: () => StatesOfProcess): () => void {
  const before = statesOfProcess
  statesOfProcess = replacement
  return () => {
    statesOfProcess = before
  }
}
