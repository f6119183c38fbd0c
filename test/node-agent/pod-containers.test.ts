/** Containers of a pod on a worker: what is reported of those that end, change, or cannot be created. */
import { describe, expect, test } from 'vitest'
import { pod, runPod } from './build.ts'

describe('the message of a container that ended', () => {
  const ending = (script: string, more: object = {}) => ({
    restartPolicy: 'Never',
    containers: [
      {
        name: 'main',
        image: 'busybox',
        command: ['sh', '-c', script],
        terminationMessagePolicy: 'FallbackToLogsOnError',
        ...more,
      },
    ],
  })
  const messageOf = async (spec: ReturnType<typeof ending>) => {
    const run = await runPod(pod('ends', spec))
    await run.clock.step(200)
    return run.last.containerStatuses?.[0]?.state?.terminated?.message
  }

  test('is its log when it failed and its policy says so', async () => {
    expect(await messageOf(ending('echo -n DONE; /bin/false'))).toBe('DONE')
    expect(await messageOf(ending('echo one; echo two; exit 1'))).toBe('one\ntwo\n')
  })

  test('is the end of a long log', async () => {
    const long = `${'echo line;'.repeat(100)} exit 1`
    expect(await messageOf(ending(long))).toBe('line\n'.repeat(80))
    const wide = `echo ${'x'.repeat(3000)}; exit 1`
    expect(await messageOf(ending(wide))).toBe(`${'x'.repeat(2047)}\n`)
  })

  test('is empty when it succeeded, and with the other policy', async () => {
    expect(await messageOf(ending('echo DONE'))).toBeUndefined()
    const file = ending('echo DONE; exit 1', { terminationMessagePolicy: 'File' })
    expect(await messageOf(file)).toBeUndefined()
  })
})
