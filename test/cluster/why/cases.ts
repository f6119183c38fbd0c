/** Cases for explainers: an object and what is related to it in, causes and the words that matter out. */
import { expect, it } from 'vitest'
import type { Explainer } from '../../../cluster/why/explainer.ts'
import type { Related } from '../../../cluster/why/related.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { causesOf, related, textOf } from './objects.ts'

export type Case = readonly [
  title: string,
  explainer: Explainer,
  about: KubeObject,
  found: { [K in keyof Related]?: unknown },
  causes: readonly string[],
  words: readonly string[],
  absent?: readonly string[],
]

/** One test for each case. Every finding must also rest on something, and lead on. */
export function itExplains(cases: readonly Case[]): void {
  for (const [title, explainer, about, found, causes, words, absent = []] of cases) {
    it(title, () => {
      const known = related(found)
      const findings = explainer.explain(about, known)
      expect(causesOf(findings)).toEqual(causes)
      const text = textOf(findings)
      for (const word of words) expect(text).toContain(word)
      for (const word of absent) expect(text).not.toContain(word)
      for (const { evidence, next } of findings) {
        expect(evidence.length * next.length).toBeGreaterThan(0)
      }
      expect(explainer.state(about, known)).not.toBe('')
    })
  }
}
