/** NodeResourcesFit as a score: the emptier a node stays with the pod on it, the better (upstream: LeastAllocated). */
import type { ScorePlugin } from '../plugin.ts'

function free(capacity: number, used: number): number {
  return capacity === 0 || used > capacity ? 0 : Math.trunc(((capacity - used) * 100) / capacity)
}

export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  normalize: 'none',
  forPod:
    (pod) =>
    ({ allocatable, scoringMilliCpu, scoringMemory }) => {
      const cpu = free(allocatable.milliCpu, scoringMilliCpu + pod.scoringMilliCpu)
      const memory = free(allocatable.memory, scoringMemory + pod.scoringMemory)
      return Math.trunc((cpu + memory) / 2)
    },
}
