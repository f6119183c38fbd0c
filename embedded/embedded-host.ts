/** The entry of the thread that hosts embedded clusters: loads the code, compiled by an earlier thread where there was one, and hands it the calls. */
import { enableCompileCache } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type { HostAnswer, HostCall } from './host-protocol.ts'

/** Where Node keeps compiled code between runs; absent: nowhere. */
const { compileCache } = workerData as { readonly compileCache?: string }
if (compileCache !== undefined) enableCompileCache(compileCache)
const hosting = import('./host.ts').then(({ createHost }) => createHost())

async function answerTo({ id, name, request }: HostCall): Promise<HostAnswer> {
  try {
    const host = await hosting
    return { id, answer: await host[name](request as never) }
  } catch (error) {
    const { name: kind, message } = error instanceof Error ? error : new Error(String(error))
    return { id, error: { name: kind, message } }
  }
}

parentPort?.on('message', (call: HostCall) => {
  void answerTo(call).then((answer) => parentPort?.postMessage(answer))
})
