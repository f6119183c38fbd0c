/** ChaosRequest: a call of LabChaos as JSON, for threads and processes. */
import type { LabChaos } from '../lab.ts'
import type { ChaosReport, ChaosSpec } from './chaos-report.ts'

export type ChaosRequest =
  { readonly call: 'begin'; readonly spec: ChaosSpec } | { readonly call: 'over' | 'stop' }

/** Where the caller goes away while it waits, the chaos is stopped. */
export async function answerChaos(
  chaos: LabChaos,
  request: ChaosRequest,
  signal?: AbortSignal,
): Promise<ChaosReport> {
  switch (request.call) {
    case 'begin':
      return await chaos.begin(request.spec)
    case 'over': {
      const stop = (): void => void chaos.stop()
      signal?.addEventListener('abort', stop, { once: true })
      try {
        return await chaos.over()
      } finally {
        signal?.removeEventListener('abort', stop)
      }
    }
    case 'stop':
      return await chaos.stop()
  }
}

/** The chaos behind `ask`. */
export function chaosOver(ask: (request: ChaosRequest) => Promise<ChaosReport>): LabChaos {
  return {
    begin: (spec) => ask({ call: 'begin', spec }),
    over: () => ask({ call: 'over' }),
    stop: () => ask({ call: 'stop' }),
  }
}
