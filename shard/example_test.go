package shard_test

import (
	"fmt"

	"millrace/shard"
)

// Three replicas share what weighs the same everywhere; then a fourth comes.
func ExampleDivide() {
	var even []shard.Cell
	for i := range uint64(64) {
		even = append(even, shard.Cell{From: i << 58, Bytes: 1000})
	}
	three := shard.Divide(shard.Division{}, []int{0, 1, 2}, even)
	four := shard.Divide(three, []int{0, 1, 2, 3}, even)
	fmt.Println(three)
	fmt.Println(four)

	mine, _ := four.Of(3)
	fmt.Println(mine.Selector())
	// Output:
	// {"version":1,"shares":[{"shard":0,"from":"0x0000000000000000"},{"shard":1,"from":"0x5400000000000000"},{"shard":2,"from":"0xac00000000000000"}]}
	// {"version":2,"shares":[{"shard":0,"from":"0x0000000000000000"},{"shard":1,"from":"0x4000000000000000"},{"shard":3,"from":"0x8000000000000000"},{"shard":2,"from":"0xc000000000000000"}]}
	// shardRange(object.metadata.namespace, '0x8000000000000000', '0xc000000000000000')
}
