import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { exportLine, shellWord } from '../../cluster/shell-word.ts'
import { testOn } from '../support/test-on.ts'

const words = [
  '/home/jane/.kube/config',
  'my clusters/кластер 集群',
  `it's "$HOME" \\ \`id\``,
  '',
  '~',
]

testOn('unix', 'words of sh').each(words)('sh reads %j as it is', (word) => {
  const { stdout } = spawnSync('sh', ['-c', `printf %s ${shellWord(word)}`], { encoding: 'utf8' })
  expect(stdout).toBe(word)
})

test('a plain word has no quotes', () => {
  expect(shellWord('/home/jane/.kube/config')).toBe('/home/jane/.kube/config')
})

test('a variable is set as the shell of the system sets it', () => {
  const path = "my clusters/Jane's"
  expect(exportLine('KUBECONFIG', path, 'darwin')).toBe(
    String.raw`export KUBECONFIG='my clusters/Jane'\''s'`,
  )
  expect(exportLine('KUBECONFIG', path, 'win32')).toBe(`$env:KUBECONFIG = 'my clusters/Jane''s'`)
})
