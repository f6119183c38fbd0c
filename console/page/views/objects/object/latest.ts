/** latest: runs work one at a time; however often it is asked for meanwhile, it runs once more. */
export function latest(run: () => Promise<void>): () => void {
  let isRunning = false
  let isAsked = false
  const work = async (): Promise<void> => {
    isRunning = true
    while (isAsked) {
      isAsked = false
      await run()
    }
    isRunning = false
  }
  return () => {
    isAsked = true
    if (!isRunning) void work()
  }
}
