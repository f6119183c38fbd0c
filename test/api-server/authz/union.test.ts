/** Several authorizers as one: the order in which they are asked, what ends it, and what is said when none has an opinion. */
import { describe, expect, it } from 'vitest'
import type {
  Authorizer,
  Decision,
  UserRules,
} from '../../../components/api-server/authz/authorizer.ts'
import { authorizeInOrder } from '../../../components/api-server/authz/union.ts'
import { attributes, user } from './attributes.ts'

const jane = user('jane', 'devs')
const asked = attributes({ user: jane, resource: 'pods' })
const allow: Decision = { decision: 'allow', reason: 'yes' }
const deny: Decision = { decision: 'deny', reason: 'no' }
const pass = (reason: string, evaluationError?: string): Decision => ({
  decision: 'no-opinion',
  reason,
  ...(evaluationError === undefined ? {} : { evaluationError }),
})

/** The decision of authorizers that say these, and how many of them were asked. */
async function decided(...answers: (Decision | Promise<Decision>)[]) {
  let count = 0
  const modules = answers.map((answer): Authorizer => {
    return { name: 'x', authorize: () => ((count += 1), answer) }
  })
  return [await authorizeInOrder(modules).authorize(asked), count] as const
}

describe('authorizers in order', () => {
  it('the first allow or deny wins, and ends it', async () => {
    for (const first of [allow, deny]) {
      for (const second of [allow, deny]) {
        expect(await decided(first, second)).toEqual([first, 1])
        expect(await decided(pass('a'), first, second)).toEqual([first, 2])
        const [later, last] = [Promise.resolve(pass('a')), Promise.resolve(first)]
        expect(await decided(later, last, second)).toEqual([first, 2])
      }
    }
  })

  it('an answer is at hand at once unless an authorizer takes time', () => {
    const at = (answer: Decision | Promise<Decision>): Authorizer => {
      return { name: 'x', authorize: () => answer }
    }
    expect(authorizeInOrder([at(pass('')), at(allow)]).authorize(asked)).toBe(allow)
    const slow = authorizeInOrder([at(Promise.resolve(allow))]).authorize(asked)
    expect(slow).toBeInstanceOf(Promise)
  })

  it('without an opinion all reasons are given, a line each, and all errors', async () => {
    const none = { decision: 'no-opinion', reason: '' }
    expect(await decided()).toEqual([none, 0])
    expect(await decided(pass(''), pass(''))).toEqual([none, 2])
    const answers = [pass('a', 'odd'), Promise.resolve(pass('')), pass('b'), pass('c', 'broken')]
    expect(await decided(...answers)).toEqual([
      { decision: 'no-opinion', reason: 'a\nb\nc', evaluationError: 'odd, broken' },
      4,
    ])
  })

  it('members of system:masters bypass them', () => {
    const no: Authorizer = { name: 'no', authorize: () => deny }
    const union = authorizeInOrder([no])
    expect(union.name).toBe('union')
    const as = (...groups: string[]) => union.authorize({ ...asked, user: user('root', ...groups) })
    expect(as('system:masters')).toEqual({ decision: 'allow', reason: '' })
    expect(as('devs', 'system:masters')).toEqual({ decision: 'allow', reason: '' })
    expect(as('system:master')).toBe(deny)
  })

  it("the rules of a user are those of all, and incomplete when one's are, or when one lists none", () => {
    const listing = (rules: UserRules): Authorizer => {
      return { name: 'x', authorize: () => pass(''), rulesFor: () => rules }
    }
    const pods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
    const nodes = { verbs: ['get'], apiGroups: [''], resources: ['nodes'] }
    const path = { verbs: ['get'], nonResourceURLs: ['/x'] }
    const one = { resourceRules: [pods], nonResourceRules: [], incomplete: false, errors: ['odd'] }
    const two = { resourceRules: [nodes], nonResourceRules: [path], incomplete: false }
    const both = { resourceRules: [pods, nodes], nonResourceRules: [path], errors: ['odd'] }
    const rulesOf = (...modules: Authorizer[]) => authorizeInOrder(modules).rulesFor?.(jane, 'a')
    expect(rulesOf(listing(one), listing(two))).toEqual({ ...both, incomplete: false })
    const partial = listing({ ...two, incomplete: true })
    expect(rulesOf(listing(one), partial)).toEqual({ ...both, incomplete: true })
    const silent: Authorizer = { name: 'x', authorize: () => pass('') }
    expect(rulesOf(listing(one), silent, listing(two))).toEqual({ ...both, incomplete: true })
  })
})
