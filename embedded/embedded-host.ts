/** The entry of the thread that hosts embedded clusters: calls in, answers out, each by its number. */
import { parentPort } from 'node:worker_threads'
import { createHost } from './host.ts'
import type { HostAnswer, HostCall } from './host-protocol.ts'

const host = createHost()

async function answerTo({ id, name, request }: HostCall): Promise<HostAnswer> {
  try {
    return { id, answer: await host[name](request as never) }
  } catch (error) {
    const { name: kind, message } = error instanceof Error ? error : new Error(String(error))
    return { id, error: { name: kind, message } }
  }
}

parentPort?.on('message', (call: HostCall) => {
  void answerTo(call).then((answer) => parentPort?.postMessage(answer))
})
