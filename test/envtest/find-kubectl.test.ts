import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findKubectl, markerFile } from '../../envtest/find-kubectl.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function folders() {
  const root = temporaryFolder('path')
  return (name: string, { isOurs = false, mode = 0o755 } = {}): string => {
    const folder = join(root, name)
    mkdirSync(folder)
    writeFileSync(join(folder, 'kubectl'), '')
    chmodSync(join(folder, 'kubectl'), mode)
    if (isOurs) writeFileSync(join(folder, markerFile), '')
    return folder
  }
}

describe('the kubectl that the one of envtest runs', () => {
  it('is the first in PATH that can be run and is none of ours', () => {
    const folder = folders()
    const path = [
      '/does/not/exist',
      '',
      folder('ours', { isOurs: true }),
      folder('no program', { mode: 0o644 }),
      folder('ours too', { isOurs: true }),
      folder('theirs'),
      folder('later'),
    ]
    expect(findKubectl(path.join(delimiter), ['kubectl'])).toBe(join(path[5] ?? '', 'kubectl'))
  })

  it('is none when all that PATH has is ours', () => {
    const ours = folders()('ours', { isOurs: true })
    expect(findKubectl(ours, ['kubectl'])).toBeUndefined()
    expect(findKubectl('', ['kubectl'])).toBeUndefined()
  })
})
