/** TimeRequest: a call of LabTime as a message, to the supervisor of a cluster or to the thread of an embedded one. */
import type { ClusterTime } from './cluster-time.ts'
import type { LabTime, TimeState } from './lab.ts'

export type TimeRequest =
  | { readonly call: 'state' | 'pause' | 'resume' | 'step' }
  | { readonly call: 'speed'; readonly speed: number }
  | { readonly call: 'advance'; readonly by: Parameters<LabTime['advance']>[0] }
  | { readonly call: 'settle'; readonly options: NonNullable<Parameters<LabTime['settle']>[0]> }

/** Where the authority is. An advance stops where it is when the signal aborts. */
export async function answerTime(
  time: ClusterTime,
  request: TimeRequest,
  signal?: AbortSignal,
): Promise<TimeState> {
  switch (request.call) {
    case 'state':
      return await time.state()
    case 'pause':
      return await time.pause()
    case 'resume':
      return await time.resume()
    case 'speed':
      return await time.speed(request.speed)
    case 'advance':
      return await time.advance(request.by, signal)
    case 'step':
      return await time.step()
    case 'settle':
      return await time.settle(request.options, signal)
  }
}

/** Where it is not. */
export function timeOver(ask: (request: TimeRequest) => Promise<TimeState>): LabTime {
  return {
    state: () => ask({ call: 'state' }),
    pause: () => ask({ call: 'pause' }),
    resume: () => ask({ call: 'resume' }),
    speed: (speed) => ask({ call: 'speed', speed }),
    advance: (by) => ask({ call: 'advance', by }),
    step: () => ask({ call: 'step' }),
    settle: (options = {}) => ask({ call: 'settle', options }),
  }
}
