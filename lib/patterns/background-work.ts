/** Work that nothing awaits until the runner stops. */
export type BackgroundWork = ReturnType<typeof createBackgroundWork>

/** Makes the record of a runner's work in progress. */
export function createBackgroundWork() {
  const in_progress = new Set<Promise<void>>()
  return {
    /** Keeps track of work until it ends. Its failure goes to `onError`; the returned promise never rejects. */
    track(work: Promise<unknown>, onError: (error: unknown) => void): Promise<void> {
      const tracked: Promise<void> = work.then(() => {}, onError).finally(() => in_progress.delete(tracked))
      in_progress.add(tracked)
      return tracked
    },
    /** Resolves when all tracked work has ended, including what is added meanwhile. */
    async ended(): Promise<void> {
      while (in_progress.size > 0) await Promise.all(in_progress)
    },
  }
}
