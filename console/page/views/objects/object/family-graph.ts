/** familyGraph: an object with its owners and what it owns, laid out from left to right. Pure. */

export interface FamilyMember {
  readonly uid: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The uids of its owners. */
  readonly owners: readonly string[]
}

export interface PlacedMember<Member> {
  readonly member: Member
  readonly x: number
  readonly y: number
}

export interface FamilyGraph<Member> {
  readonly members: readonly PlacedMember<Member>[]
  readonly edges: readonly {
    readonly from: PlacedMember<Member>
    readonly to: PlacedMember<Member>
  }[]
  readonly width: number
  readonly height: number
  /** Members beyond the most that are drawn. */
  readonly left: number
}

export const memberSize = { width: 210, height: 44 } as const
const gap = { x: 56, y: 12 } as const
const mostDrawn = 300

function reach<Member extends FamilyMember>(
  from: Member,
  next: (member: Member) => Iterable<Member>,
): Set<Member> {
  const found = new Set([from])
  // A Set also visits what is added during the visit.
  for (const member of found) for (const other of next(member)) found.add(other)
  return found
}

/** The focus, its owners above and what it owns, directly or not. Cycles end. */
export function familyOf<Member extends FamilyMember>(
  all: ReadonlyMap<string, Member>,
  focusUid: string,
): Member[] {
  const focus = all.get(focusUid)
  if (focus === undefined) return []
  const owned = new Map<string, Member[]>()
  for (const member of all.values()) {
    for (const uid of member.owners) {
      const known = owned.get(uid)
      if (known === undefined) owned.set(uid, [member])
      else known.push(member)
    }
  }
  const above = reach(focus, ({ owners }) => owners.flatMap((uid) => all.get(uid) ?? []))
  const below = reach(focus, ({ uid }) => owned.get(uid) ?? [])
  return [...new Set([...above, ...below])]
}

/** What the object owns, directly or not, without itself. */
export function ownedBy<Member extends FamilyMember>(
  members: readonly Member[],
  uid: string,
): Member[] {
  const owned = new Set([uid])
  // As often as chains of owners are long.
  for (let before = 0; before !== owned.size;) {
    before = owned.size
    for (const member of members)
      if (member.owners.some((owner) => owned.has(owner))) owned.add(member.uid)
  }
  return members.filter((member) => member.uid !== uid && owned.has(member.uid))
}

/** Column of each member: one right of its rightmost owner. Owners in a cycle stay where the bound leaves them. */
function columnsOf(members: readonly FamilyMember[]): Map<string, number> {
  const column = new Map(members.map(({ uid }) => [uid, 0]))
  for (let round = 0, isSettled = false; !isSettled && round < 16; round += 1) {
    isSettled = true
    for (const { uid, owners } of members) {
      const known = owners.flatMap((owner) => column.get(owner) ?? [])
      const wanted = Math.min(16, Math.max(-1, ...known) + 1)
      if (wanted <= (column.get(uid) ?? 0)) continue
      column.set(uid, wanted)
      isSettled = false
    }
  }
  return column
}

/** Members of a column in the order of their owners, then by kind and name. */
export function layoutFamily<Member extends FamilyMember>(
  family: readonly Member[],
): FamilyGraph<Member> {
  const drawn = family.slice(0, mostDrawn)
  const column = columnsOf(drawn)
  const placed = new Map<string, PlacedMember<Member>>()
  const columns = Map.groupBy(drawn, ({ uid }) => column.get(uid) ?? 0)
  const [stepX, stepY] = [memberSize.width + gap.x, memberSize.height + gap.y]
  for (const index of [...columns.keys()].toSorted((a, b) => a - b)) {
    const ownerY = ({ owners }: Member): number =>
      Math.min(Infinity, ...owners.flatMap((uid) => placed.get(uid)?.y ?? []))
    const text = ({ kind, namespace, name }: Member): string => `${kind}\n${namespace}\n${name}`
    const sorted = (columns.get(index) ?? []).toSorted((a, b) => {
      const [yA, yB] = [ownerY(a), ownerY(b)]
      if (yA !== yB) return yA - yB
      return text(a) < text(b) ? -1 : 1
    })
    sorted.forEach((member, row) => {
      placed.set(member.uid, { member, x: index * stepX, y: row * stepY })
    })
  }
  const members = [...placed.values()]
  const edges = members.flatMap((to) =>
    to.member.owners.flatMap((uid) => {
      const from = placed.get(uid)
      return from === undefined ? [] : [{ from, to }]
    }),
  )
  return {
    members,
    edges,
    width: Math.max(0, ...members.map(({ x }) => x)) + memberSize.width,
    height: Math.max(0, ...members.map(({ y }) => y)) + memberSize.height,
    left: family.length - drawn.length,
  }
}
