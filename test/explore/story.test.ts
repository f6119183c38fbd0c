import { expect, it } from 'vitest'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { parseStory, readStory, userOf } from '../../explore/story.ts'

const steps = 'steps: [{ sleep: 1s }]'

function faultsOf(text: string): readonly string[] {
  try {
    parseStory(text, 'story.yaml')
  } catch (error) {
    if (error instanceof ClusterError) return error.details
  }
  return []
}

it('takes manifests from beside the story', () => {
  const { manifests } = parseStory(`manifests: [config]\n${steps}`, '/work/story.yaml')
  expect(manifests).toEqual(['/work/config'])
})

it('names the line of what is wrong', () => {
  expect(faultsOf(`manifest: []\n${steps}`)).toEqual([
    'story.yaml:1: manifest: unknown field; did you mean manifests?',
  ])
  expect(faultsOf(`serviceAccount: operator\n${steps}`)).toEqual([
    'story.yaml:1: serviceAccount: must be NAMESPACE/NAME, not "operator"',
  ])
})

it('rejects steps that need a cluster of processes', () => {
  const [fault] = faultsOf('steps: [{ component: { kill: scheduler } }]')
  expect(fault).toBe('story.yaml: a story has no step component')
})

it('says that a story is not there', () => {
  expect(() => readStory('/nowhere/story.yaml')).toThrow('is not a story that can be told')
})

it('gives the controller the rights of its service account', () => {
  expect(userOf({ serviceAccount: 'shop/operator' })).toEqual({
    user: 'system:serviceaccount:shop:operator',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:shop'],
  })
})
