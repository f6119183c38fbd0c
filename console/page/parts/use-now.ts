/** useNow: a time in milliseconds; the component draws again with it. */
import { useEffect, useState } from 'preact/hooks'
import { clusterNow } from '../app/cluster-time.ts'

function useClock(read: () => number, everyMs: number): number {
  const [nowMs, setNow] = useState(read)
  useEffect(() => {
    const timer = setInterval(() => setNow(read()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return nowMs
}

/** The cluster's time. While it is paused, nothing is drawn again. */
export function useNow(everyMs = 1000): number {
  return useClock(clusterNow, everyMs)
}

/** Real time: for processes of the machine, and for what is done again and again. */
export function useRealNow(everyMs = 1000): number {
  return useClock(Date.now, everyMs)
}
