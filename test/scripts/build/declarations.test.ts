/** Declarations: which modules one names. */
import { expect, test } from 'vitest'
import { specifiersIn } from '../../../scripts/build/declarations.ts'

test('a declaration names modules in imports, exports and types, and none in comments', () => {
  const text = `
/** Use it as in \`import { x } from 'documented'\`. */
import type { A } from './a.ts'
import './b.ts'
export * from "./c.ts"
export declare const d: import('./d.ts').D
export declare const from: 'not-a-module'
`
  expect(specifiersIn(text)).toEqual(['./a.ts', './b.ts', './c.ts', './d.ts'])
})
