import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { silentLog } from '../../components/component-base/log.ts'
import { loadTlsFiles } from '../../components/component-base/tls-files.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { createTestPki } from '../support/tls.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const pki = createTestPki()

it("reads files again when they change, and never takes a key that is not the certificate's", async () => {
  const folder = temporaryFolder('tls')
  const paths = {
    certFile: join(folder, 'a.crt'),
    keyFile: join(folder, 'a.key'),
    caFile: join(folder, 'ca.crt'),
  }
  const first = pki.client('first')
  const second = pki.client('second')
  writeFileSync(paths.certFile, first.cert)
  writeFileSync(paths.keyFile, first.key)
  await expect(loadTlsFiles({ paths, clock: new FakeClock(), log: silentLog })).rejects.toThrow(
    'ca.crt',
  )
  writeFileSync(paths.caFile, pki.caPem)
  const clock = new FakeClock()
  const files = await loadTlsFiles({ paths, clock, log: silentLog })
  const changes: unknown[] = []
  files.onChange((material) => changes.push(material.cert))
  const stop = new AbortController()
  const done = files.run(stop.signal)
  expect(files.current).toEqual({ ...first, ca: pki.caPem })

  await eventually(() => expect(clock.pending).toBe(1))
  writeFileSync(paths.certFile, second.cert)
  await clock.step(10_000)
  await eventually(() => expect(clock.pending).toBe(1)) // it has looked, and waits
  expect(files.current.cert).toBe(first.cert)
  writeFileSync(paths.keyFile, second.key)
  await clock.step(10_000)
  await expect.poll(() => files.current.cert).toBe(second.cert)
  expect(changes).toEqual([second.cert])
  stop.abort()
  await done
})
