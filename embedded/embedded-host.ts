/** The entry of the thread that hosts embedded clusters: hands the host its calls. */
import { parentPort } from 'node:worker_threads'
import { createHost } from './host.ts'
import type { HostAnswer, HostCall, HostFaults } from './host-protocol.ts'

const host = createHost((faults: HostFaults) => parentPort?.postMessage(faults))

async function answerTo({ id, name, request }: HostCall): Promise<HostAnswer> {
  try {
    return { id, answer: await host[name](request as never) }
  } catch (error) {
    const { name: kind, message } = error instanceof Error ? error : new Error(String(error))
    return { id, error: { name: kind, message } }
  }
}

const { promise, resolve } = Promise.withResolvers<void>()
/** Resolves after the first cluster: the thread may be ended at any time, without notice. */
export const started = promise

parentPort?.on('message', (call: HostCall) => {
  void answerTo(call).then((answer) => {
    parentPort?.postMessage(answer)
    if (call.name === 'start' || call.name === 'prepare') resolve()
  })
})
