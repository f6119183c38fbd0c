/** functionController: a controller under test that is a function of this process. It is killed by its signal. */
import { dialects } from '../components/api/dialect.ts'
import { createClient } from '../components/client/client.ts'
import { connectionFrom, parseKubeconfig } from '../components/client/kubeconfig.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { messageOf } from '../components/component-base/log.ts'
import { createKinds } from '../library/kinds.ts'
import { objectClientOver } from '../library/object-client.ts'
import type { ObjectClient } from '../library/types.ts'
import type { ControllerUnderTest, RunningController } from './controller-under-test.ts'
import type { ControllerFunction } from './explore-options.ts'

export interface FunctionControllerOptions {
  readonly controller: ControllerFunction
  /** It has not ended five seconds after it was killed: what it does now would be taken for what its next run does. */
  readonly onStuck: () => void
}

const mostMs = 5000

async function clientOver(text: string): Promise<ObjectClient> {
  const { server, ca, credentials = {} } = await connectionFrom(await parseKubeconfig(text))
  if (ca === undefined) throw new Error('the gate has no authority')
  const userAgent = 'controller-under-test'
  const client = createClient({ server, ca, credentials, dialect: dialects.kubernetes, userAgent })
  const namespace = 'default'
  return objectClientOver({ client, kinds: createKinds(client), namespace, kubeconfig: () => text })
}

function startFunction(
  { controller, onStuck }: FunctionControllerOptions,
  kubeconfig: string,
): RunningController {
  const stopping = new AbortController()
  const { signal } = stopping
  const killed = Promise.withResolvers<string>()
  let failure: string | undefined
  const work = async (): Promise<string> => {
    const client = await clientOver(kubeconfig)
    signal.addEventListener('abort', () => client.close(), { once: true })
    try {
      if (!signal.aborted) await controller({ kubeconfig, client, signal })
      return 'ended'
    } catch (error) {
      failure = messageOf(error)
      return `failed: ${failure}`
    } finally {
      client.close()
    }
  }
  const working = work()
  return {
    ended: Promise.race([working, killed.promise]),
    kill: async () => {
      stopping.abort(new Error('the controller is killed'))
      killed.resolve('was killed')
      const late = Promise.withResolvers<void>()
      const cancel = systemClock.after(mostMs, () => {
        onStuck()
        late.resolve()
      })
      await Promise.race([working, late.promise])
      cancel()
    },
    output: () => (failure === undefined ? [] : [failure]),
    outputBytes: 0,
  }
}

export function functionController(options: FunctionControllerOptions): ControllerUnderTest {
  return { start: (kubeconfig) => startFunction(options, kubeconfig) }
}
